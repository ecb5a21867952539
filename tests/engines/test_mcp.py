"""Tools for assistants: a real client starts `bascule mcp` and speaks to a real service."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import pytest
from tests.service.running import DESIGN, Service

from bascule.service.mcp_server import calls_of

pytestmark = pytest.mark.engine

pytest.importorskip("mcp")


async def use(
    service: Service, role: str, tools: list[tuple[str, dict[str, Any]]], *options: str
) -> tuple[set[str], list[tuple[bool, str]]]:
    """The names of all tools, and what some of them answer: whether it is an error, and text."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program = "from bascule.cli.main import main; main()"
    started = StdioServerParameters(
        command=sys.executable,
        args=["-c", program, "mcp", "--url", service.url, *options],
        env={**os.environ, "BASCULE_KEY": service.keys[role], "NO_PROXY": "*"},
    )
    async with stdio_client(started) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        answers = [await session.call_tool(name, given) for name, given in tools]
    texts: list[Any] = [one.content[0] for one in answers]
    failed = [bool(one.is_error) for one in answers]
    return names, [(is_error, text.text) for is_error, text in zip(failed, texts, strict=True)]


def test_an_assistant_creates_a_test_and_reads_it(service: Service) -> None:
    new = {"name": "by-assistant", "design": DESIGN}
    names, ((failed, made), (_, shown)) = asyncio.run(
        use(
            service,
            "admin",
            [("post_experiments", new), ("get_experiment_status", {"name": "by-assistant"})],
            "--allow-changes",
        )
    )
    assert not failed, made
    assert json.loads(made)["name"] == "by-assistant"
    assert json.loads(shown)["state"] == "running"
    assert {"post_plan", "post_experiment_stop", "get_experiment_report"} <= names
    assert not any("assign" in name or "outcomes" in name or "units" in name for name in names)


def test_an_assistant_plans_a_test_and_analyses_one(service: Service, name: str) -> None:
    """Both without --allow-changes, with the key of a viewer."""
    test = service.store.get(name)
    for i in range(200):
        arm = test.assign(f"u{i}")
        test.record(f"u{i}", float(arm == "green"))
    service.clock.advance("8d")
    request = {"baseline": "5%", "lift": "20%", "units_per_day": "5k"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("post_plan", request),
        ("post_plan", {**request, "baseline": "many"}),
        ("get_experiment_report", {"name": name, "form": "json"}),
    ]
    _, ((failed, plan), (refused, why), (unread, report)) = asyncio.run(
        use(service, "viewer", calls)
    )
    assert not failed, plan
    with service.caller("viewer") as caller:
        asked = caller.post("/v1/plan", json=request).json()
    assert json.loads(plan)["design"] == asked["design"]
    assert refused
    assert "baseline must be a number" in why
    assert not unread, report
    assert json.loads(report)["status"]["decision"]["name"] == "green"


def test_it_reads_only_unless_told_otherwise(service: Service) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("post_experiments", {"name": "sneaky", "design": DESIGN}),
        ("get_experiments", {}),
        ("get_experiment_status", {"name": "../keys"}),
        # The server would decode the slash, and answer with the names of units.
        ("get_experiment", {"name": "t/export"}),
    ]
    names, answers = asyncio.run(use(service, "viewer", calls))
    plans = {"post_plan", "post_plan_rollout"}
    assert {name for name in names if not name.startswith("get_")} == plans
    # Nothing about single units.
    about_units = ("assign", "outcomes", "units", "link", "export", "excluded")
    assert not [name for name in names for part in about_units if part in name]
    assert [failed for failed, _ in answers] == [True, False, True, True]
    assert "there is no tool" in answers[0][1]
    assert "sneaky" not in [test.name for test in service.store.experiments()]


def test_every_reading_tool_has_a_schema_of_its_own(service: Service) -> None:
    with service.caller() as caller:
        described = caller.get("/openapi.json").json()
    found = calls_of(described, changes=True)
    calls = {call.name: call for call in found}
    assert len(calls) == len(found) > 15
    assert calls["post_plan"].reads
    assert not calls["delete_experiment"].reads
    assert calls["post_experiments"].schema["required"] == ["name", "design"]
    assert all("#/components" not in json.dumps(call.schema) for call in calls.values())
