"""The files for deployment, as far as they can be checked without a container engine."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule.cli.operation import serve

ROOT = Path(__file__).parents[1]
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE"}
INSTRUCTIONS |= {"HEALTHCHECK", "ENTRYPOINT", "CMD"}


def test_the_table_of_settings_has_every_variable_of_serve() -> None:
    page = (ROOT / "docs" / "using" / "deploy.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(BASCULE_\w+)` \|(?: `(--[\w-]+)`)? \|", page, re.MULTILINE))
    found = {"BASCULE_WEBHOOK_SECRET": "", "BASCULE_OIDC_SECRET": ""}
    for name, parameter in inspect.signature(serve.command).parameters.items():
        option: Any = parameter.default
        flags = [flag for flag in option.param_decls or () if flag.startswith("--")]
        if option.envvar is None:
            # Help.
            continue
        found[str(option.envvar)] = flags[0] if flags else f"--{name.replace('_', '-')}"
    assert rows == found


def test_the_container_file_is_well_formed() -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    lines = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    assert {line[0] for line in lines} <= INSTRUCTIONS
    assert dict(lines)["USER"] == "65532:65532"
    assert "readyz" in dict(lines)["HEALTHCHECK"]
    for line in lines:
        if line[0] == "COPY" and "--from" not in line[1]:
            assert all((ROOT / name).exists() for name in line[1].split()[:-1])
    # The build imports what a service does, which keeps its bytecode.
    imported = re.search(r'-c "import (bascule.*?)"', text)
    assert imported is not None
    ours = [name for name in imported[1].split(", ") if name.startswith("bascule")]
    assert len(ours) > 1
    assert all(find_spec(name) for name in ours)
    variables = set(re.findall(r"(BASCULE_\w+)=", text))
    extras = set(re.search(r"'\.\[(.*)\]'", text)[1].split(","))  # type: ignore[index]
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f"\n{extra} = [" in project for extra in extras)
    assert variables == {"BASCULE_HOST", "BASCULE_STORE"}


def test_the_composition_is_read_only_and_waits_for_its_database() -> None:
    data = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
    service, database = data["services"]["bascule"], data["services"]["database"]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["depends_on"]["database"]["condition"] == "service_healthy"
    assert "pg_isready" in database["healthcheck"]["test"][1]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (ROOT / service["build"]["dockerfile"]).is_file()


def test_systemd_takes_the_unit() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd on this machine")
    done = subprocess.run(
        [program, "verify", str(ROOT / "deploy" / "bascule.service")],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "bascule.service" in line]
    # The program is not installed here.
    assert all("is not executable" in line for line in said), said
