"""Steering with a real flagd and a real Unleash server, which users ask for their arm."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.service.test_clients import node
from tests.steering.team import Team

from bascule.core.errors import InputError
from bascule.steering.targets import Unleash

# The client of flagd leaves threads and connections behind that Python warns of at the end.
pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SERVER = (
    Path(__file__).parent / "unleash" / "node_modules" / "unleash-server" / "dist" / "server.js"
)
ADMIN, BROWSER = "*:*.steeradmin", "default:development.steerbrowser"
REFRESH = 0.5
"""Seconds after which the server serves new weights to browsers."""

BETTER = {"control": 0.1, "green": 0.25}

Asked = Callable[[str], str]


def run_daily(team: Team, asked: Callable[[], Asked]) -> list[dict[str, int]]:
    """Run a test daily until it is over; how many users of each day got which arm."""
    run, served = team.steer(), []
    while run.state == "running" and team.day < 20:
        start = len(team.exposures)
        team.users(300, BETTER, asked())
        arms = [arm for _, arm, _ in team.exposures[start:]]
        served.append({arm: arms.count(arm) for arm in ("control", "green")})
        run = team.steer()
    assert run.winner == "green"
    return served


def test_a_flag_of_flagd_is_steered_to_the_right_decision(tmp_path: Path) -> None:
    pytest.importorskip("openfeature.contrib.provider.flagd")
    from openfeature import api
    from openfeature.contrib.provider.flagd import FlagdProvider
    from openfeature.contrib.provider.flagd.config import ResolverType
    from openfeature.evaluation_context import EvaluationContext

    team = Team(tmp_path)

    def asked() -> Asked:
        api.set_provider_and_wait(
            FlagdProvider(resolver_type=ResolverType.FILE, offline_flag_source_path=str(team.flags))
        )
        client = api.get_client()
        return lambda unit: client.get_string_value("button", "none", EvaluationContext(unit))

    try:
        served = run_daily(team, asked)
        assert 100 < served[0]["green"] < 200
        assert served[-1]["green"] > 1.5 * served[-1]["control"]
        everyone = asked()
        assert {everyone(f"later-{k}") for k in range(200)} == {"green"}
        inside = EvaluationContext("later-1", {"email": "me@example.com"})
        assert api.get_client().get_string_details("button", "none", inside).variant == "green"
    finally:
        api.shutdown()


@pytest.fixture(scope="module")
def unleash(
    new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A running Unleash server; its address."""
    if not SERVER.exists():
        pytest.skip("no Unleash server from npm: make unleash")
    address = urlsplit(new_database())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "DATABASE_HOST": parse_qs(address.query)["host"][0],
        "DATABASE_NAME": address.path.strip("/"),
        "DATABASE_USERNAME": address.username or "postgres",
        "DATABASE_PASSWORD": "",
        "DATABASE_SSL": "false",
        "HTTP_PORT": str(port),
        "HTTP_HOST": "127.0.0.1",
        "INIT_ADMIN_API_TOKENS": ADMIN,
        "INIT_FRONTEND_API_TOKENS": BROWSER,
        "FRONTEND_API_REFRESH_INTERVAL_MS": str(round(1000 * REFRESH)),
        "CHECK_VERSION": "false",
        "SEND_TELEMETRY": "false",
        "TZ": "UTC",
    }
    log = tmp_path_factory.mktemp("unleash") / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [node(), str(SERVER)], env=os.environ | settings, stdout=output, stderr=output
        )
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + 300
    try:
        while True:
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, log.read_text()[-2000:]
                assert time.monotonic() < until, log.read_text()[-2000:]
                time.sleep(0.5)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def call(url: str, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": ADMIN, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/api/admin/projects/default/{path}", data, headers)
    request.method = method
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def variant(target: dict[str, str], unit: str) -> str:
    """Ask the server, as a browser does, which variant a user gets."""
    request = urllib.request.Request(
        f"{target['url']}/api/frontend?userId={unit}", headers={"Authorization": BROWSER}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        flags = {one["name"]: one["variant"]["name"] for one in json.load(answer)["toggles"]}
    return str(flags[target["flag"]])


@pytest.fixture
def target(unleash: str) -> dict[str, str]:
    """A flag with two variants, as a team has made it; the target of a test."""
    name, place = f"button{time.time_ns()}", "environments/development"
    call(unleash, "POST", "features", {"name": name, "type": "experiment"})
    strategy = {
        "name": "flexibleRollout",
        "parameters": {"rollout": "100", "stickiness": "userId", "groupId": name},
        "constraints": [{"contextName": "userId", "operator": "NOT_IN", "values": ["xx"]}],
        "variants": [
            {"name": arm, "weight": 500, "weightType": "variable", "stickiness": "userId"}
            for arm in ("control", "green")
        ],
    }
    call(unleash, "POST", f"features/{name}/{place}/strategies", strategy)
    call(unleash, "POST", f"features/{name}/{place}/on")
    return {
        "kind": "unleash",
        "url": unleash,
        "flag": name,
        "environment": "development",
        "token": "${STEER_TEST_TOKEN}",
    }


def test_a_flag_of_unleash_is_steered_to_the_right_decision(
    tmp_path: Path, target: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEER_TEST_TOKEN", ADMIN)
    team = Team(tmp_path, target=target)

    def asked() -> Asked:
        time.sleep(2 * REFRESH)
        return lambda unit: variant(target, unit)

    served = run_daily(team, asked)
    assert 100 < served[0]["green"] < 200
    assert served[-1]["green"] > 1.5 * served[-1]["control"]
    everyone = asked()
    assert {everyone(f"later-{k}") for k in range(50)} == {"green"}
    path = f"features/{target['flag']}/environments/development/strategies"
    (strategy,) = call(target["url"], "GET", path)
    assert strategy["constraints"][0]["values"] == ["xx"]
    assert strategy["parameters"]["stickiness"] == "userId"


def test_what_unleash_refuses_is_said(target: dict[str, str]) -> None:
    parts: dict[str, Any] = {name: value for name, value in target.items() if name != "token"}
    with pytest.raises(InputError, match="it answered 401: check the token"):
        Unleash(**parts, token="*:*.wrong").read()
    with pytest.raises(InputError, match=r"one strategy must have variants \(got 0\)|404"):
        Unleash(**parts | {"flag": "nothing"}, token=ADMIN).read()
    with pytest.raises(InputError, match="it cannot be reached"):
        Unleash(**parts | {"url": "http://127.0.0.1:9"}, token=ADMIN).read()
    unleash = Unleash(**parts, token=ADMIN)
    for shares in ({"control": 0.125, "green": 0.875}, {"control": 1.0, "green": 0.0}):
        unleash.write(shares)
        assert unleash.read() == shares
