"""Traces for OpenTelemetry: one span for each request, with its route and status.

It is off unless asked for. Where traces go is set by OpenTelemetry's own variables, as
`OTEL_EXPORTER_OTLP_ENDPOINT`. Spans have no names of units: only methods, routes and statuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def make_provider() -> Any:
    """Make what sends spans to the collector that OpenTelemetry's variables name."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        raise InputError(
            "trace", f"tracing needs {missing.name}: pip install 'bascule[tracing]'"
        ) from None
    # OTEL_SERVICE_NAME takes precedence.
    provider = TracerProvider(resource=Resource.create({"service.name": "bascule"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Traced:
    """An application whose requests are spans, children of the caller's where it says so."""

    def __init__(self, app: ASGIApp, provider: Any) -> None:
        from bascule import __version__

        self._app = app
        self._tracer = provider.get_tracer("bascule", __version__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request inside a span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        from opentelemetry.trace.status import Status, StatusCode

        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        parent = TraceContextTextMapPropagator().extract(sent)
        method = str(scope["method"])
        with self._tracer.start_as_current_span(
            method, context=parent, kind=SpanKind.SERVER
        ) as span:
            span.set_attribute("http.request.method", method)

            async def note(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = int(message["status"])
                    span.set_attribute("http.response.status_code", status)
                    if status >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                    route = getattr(scope.get("route"), "path", None)
                    if route:
                        span.set_attribute("http.route", route)
                        span.update_name(f"{method} {route}")
                await send(message)

            await self._app(scope, receive, note)
