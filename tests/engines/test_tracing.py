"""Traces, sent by OpenTelemetry's own exporter to a collector of the test's own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.service.notifications.test_webhooks import Listener, listener
from tests.service.running import DESIGN, Service

import bascule as bs

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

__all__ = ["listener"]

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_each_request_is_a_span_below_its_caller(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    listener.status = 200
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", listener.url.removesuffix("/hook"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    service = Service(trace=True)
    try:
        service.store.create("button", bs.Design.from_dict(DESIGN))
        with service.caller("client") as caller:
            caller.headers["traceparent"] = f"00-{TRACE}-{PARENT}-01"
            unit = {"unit": "ann@example.com"}
            assert caller.post("/v1/experiments/button/assign", json=unit).status_code == 200
            assert caller.get("/v1/experiments").status_code == 403
    finally:
        # What is left is sent when the service ends.
        service.close()
    spans: list[Any] = []
    for _, body in listener.heard:
        sent = ExportTraceServiceRequest.FromString(body)
        spans += [
            span for one in sent.resource_spans for scope in one.scope_spans for span in scope.spans
        ]
    found = {span.name: span for span in spans if span.trace_id.hex() == TRACE}
    assert set(found) == {"POST /v1/experiments/{name}/assign", "GET /v1/experiments"}
    assert {span.parent_span_id.hex() for span in found.values()} == {PARENT}
    statuses = {
        name: {one.key: one.value.int_value for one in span.attributes}["http.response.status_code"]
        for name, span in found.items()
    }
    assert statuses["GET /v1/experiments"] == 403
    assert b"ann@" not in b"".join(body for _, body in listener.heard)
