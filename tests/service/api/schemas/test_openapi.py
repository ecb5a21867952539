"""The description of the API is true: Schemathesis sends what it allows, and what it forbids."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.service.running import DESIGN, Service

import bascule as bs

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("BASCULE_SCHEMATHESIS", "2"))
"""Cases for each operation beside those that cover its schema; more take longer."""


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    service = Service(rate=1e9, guesses=10**9)
    try:
        # Three arms, so that one may be paused, as in the example of the description.
        design = bs.Design.from_dict({**DESIGN, "arms": ["control", "green", "blue"]})
        for name in ("known", "victim"):
            test = service.store.create(name, design)
            # The unit of the description's examples, which can be erased.
            test.assign("user-42")
            test.record("user-42", 1.0)
        command = [
            *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
            *("--config-file", str(Path(__file__).parents[2] / "schemathesis.toml")),
            *("run", f"{service.url}/openapi.json", "--checks", "all", "--seed", "1", "--no-color"),
            *("--header", f"Authorization: Bearer {service.keys['admin']}"),
            *("--max-examples", str(CASES), "--request-timeout", "60"),
            *("--generation-database", "none"),
        ]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=550, check=False
        )
    finally:
        service.close()
    assert done.returncode == 0, done.stdout + done.stderr
    tested = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert tested, done.stdout
    assert int(tested[1]) == int(tested[2]) > 500
    assert "returned only 401/403" not in done.stdout, (
        "an operation whose key was refused every time"
    )


def test_the_page_is_not_in_the_description(service: Service) -> None:
    with service.caller() as caller:
        described = caller.get("/openapi.json").json()
    assert all(
        path.startswith(("/v1", "/ofrep", "/healthz", "/readyz", "/metrics"))
        for path in described["paths"]
    )
    assert set(described["components"]["securitySchemes"]) == {"bearer", "key"}
    # A body that is one of several shapes: oneOf would refuse what fits two of them.
    assert "oneOf" not in str(described["paths"])


def test_the_reference_has_every_call(service: Service) -> None:
    page = (Path(__file__).parents[4] / "docs" / "using" / "http.md").read_text("utf-8")
    with service.caller() as caller:
        described = caller.get("/openapi.json").json()["paths"]
    told = set(re.findall(r"^\| `((?:GET|POST|DELETE) /\S+)` \|", page, re.MULTILINE))
    assert told == {f"{m.upper()} {path}" for path, some in described.items() for m in some}
