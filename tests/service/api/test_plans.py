"""Plans of tests and of rollouts over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.service.running import Service, path


@pytest.mark.slow
def test_a_plan_is_what_the_planner_says(admin: httpx.Client) -> None:
    metric = {"name": "latency", "outcome": {"kind": "gaussian", "sigma": 30}, "margin": 5}
    request: dict[str, Any] = {
        "sample": [float(i % 100) for i in range(500)],
        "cap": "90%",
        "lift": "50%",
    }
    request |= {"metrics": [metric], "harm_error": 0.01, "covariate": "before:0:100"}
    answer = admin.post(
        "/v1/plan", json={**request, "correlation": 0.5, "units_per_day": 200}
    ).json()
    assert answer["possible"] is True
    design = answer["design"]
    assert (design["rule"]["kind"], design["harm_error"]) == ("tilt", 0.01)
    assert design["outcome"] == {"kind": "bounded", "low": 0.0, "high": 89.1}
    assert design["covariates"][0]["name"] == "before"
    assert answer["guardrail_days"]["latency"] > 0.0
    refused = admin.post("/v1/plan", json={"outcome": {"kind": "gaussian"}, "baseline": 20})
    assert (refused.status_code, refused.json()["field"]) == (422, "lift")
    assert admin.post("/v1/plan", json={**request, "metrics": [{"name": "x"}]}).status_code == 400


@pytest.mark.slow
def test_a_guarded_rollout_is_planned_watched_and_rolled_back(
    admin: httpx.Client, service: Service
) -> None:
    slow = {"name": "slow", "outcome": {"kind": "gaussian"}, "goal": "decrease", "margin": 1.0}
    ramp = [["0d", 0.25], ["1d", 0.5]]
    asked = {"metrics": [slow], "ramp": ramp, "units_per_day": "1k", "reports": "always"}
    plan = admin.post("/v1/plan/rollout", json=asked).json()
    assert plan["cases"]["unchanged"]["rolled_back"] <= 0.05
    given = {"name": "ramped", "design": plan["design"], "audience": plan["audience"]}
    made = admin.post("/v1/experiments", json=given)
    assert made.status_code == 201, made.text
    assert made.json()["status"]["rollout"] == {
        "version": "new",
        "traffic": 0.5,
        "part": 0.5,
        "next_traffic": 1.0,
        "next_days": 1.0,
        "open": ["slow"],
        "held": [],
    }
    assert made.json()["status"]["headline"] == "Waiting for the first unit"
    sent = {"outcomes": [{"unit": "first", "value": 0.0, "metric": "slow"}]}
    admin.post(path("ramped", "assign"), json={"unit": "first"})
    sent["outcomes"].append({"unit": "first", "value": 0.0})
    admin.post(path("ramped", "outcomes"), json=sent)
    words = "50 % of the traffic is in the rollout of new, 25 % gets new; 100 % is in it in"
    assert words in admin.get(path("ramped", "status")).json()["headline"]
    service.clock.advance("1d")
    for i in range(60):
        arm = admin.post(path("ramped", "assign"), json={"unit": f"u{i}"}).json()["arm"]
        both = [{"value": 6.0 * (arm == "new")}, {"value": 6.0 * (arm == "new"), "metric": "slow"}]
        outcomes = [{"unit": f"u{i}", **one} for one in both]
        admin.post(path("ramped", "outcomes"), json={"outcomes": outcomes})
    status = admin.get(path("ramped", "status")).json()
    reached = status["decision"]
    assert (reached["name"], reached["harm"], reached["by"]) == ("present", ["slow"], "guardrails")
    assert "not harmful is removed as harmful with probability at most 5 %" in reached["meaning"]
    assert (status["everyone"], status["rollout"]) == ("present", None)
    audit = admin.get(path("ramped", "audit")).json()["audit"]
    assert [entry["action"] for entry in audit][-2:] == ["decide", "release"]
