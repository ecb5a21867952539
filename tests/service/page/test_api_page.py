"""The page with every call of the API."""

from __future__ import annotations

import json
import re
from html import unescape

import httpx
from tests.service.running import Service

import bascule as bs
from bascule.service.page.api_page import calls
from bascule.service.server.app import make_app


def test_every_call_is_on_the_page_and_nothing_comes_from_elsewhere(service: Service) -> None:
    with httpx.Client(base_url=service.url, trust_env=False, timeout=60) as browser:
        page = browser.get("/docs")
        description = browser.get("/openapi.json").json()
    assert page.status_code == 200
    for path, operations in description["paths"].items():
        for method in operations:
            assert f"<h3><code>{method.upper()} {path}</code></h3>" in page.text
    assert not re.search(r"<(?:script|link|img)[^>]*https?://", page.text)
    anchors = re.findall(r'href="#([^"]+)"', page.text)
    assert len(anchors) > 25
    assert all(f'id="{anchor}"' in page.text for anchor in anchors)


def test_examples_have_the_fields_that_are_sent_and_answered() -> None:
    with bs.open(":memory:") as store:
        description = make_app(store).openapi()
    by_name = {
        (call.method, call.path): call for listed in calls(description).values() for call in listed
    }
    record = by_name["POST", "/v1/experiments/{name}/outcomes"]
    (sent,) = json.loads(record.sent)["outcomes"]
    assert {"unit", "value", "id"} <= set(sent)
    assign = by_name["POST", "/v1/experiments/{name}/assign"]
    assert {"unit", "arm", "reason", "enrolled"} <= set(json.loads(assign.answered))
    status = json.loads(by_name["GET", "/v1/experiments/{name}/status"].answered)
    assert {"arms", "effects", "decision"} <= set(status)
    assert not by_name["GET", "/v1/experiments/{name}/export"].answered
    # JSON of an answer is shown wherever the description has its schema.
    shown = [call for call in by_name.values() if call.answered]
    assert len(shown) > 20
    assert all(unescape(call.answered) == call.answered for call in shown)
