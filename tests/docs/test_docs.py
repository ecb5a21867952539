"""The pages as a whole; what their code blocks do is checked where they stand (see conftest.py)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bascule
from bascule import theory

DOCS = Path(__file__).parents[2] / "docs"
LOADED_BY_A_PAGE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*https?://", re.IGNORECASE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "-q", str(DOCS), str(out)]
    doctrees = ["-d", str(tmp_path_factory.mktemp("doctrees"))]
    done = subprocess.run([*command, *doctrees], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def test_pages_load_nothing_from_elsewhere(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        assert not LOADED_BY_A_PAGE.search(page.read_text(encoding="utf-8")), page


def test_formulas_are_mathml(built: Path) -> None:
    page = (built / "explanation" / "bounds.html").read_text(encoding="utf-8")
    assert page.count("<math") > 50
    assert not re.search(r"<script[^>]*mathjax", page, re.IGNORECASE)


def test_reference_covers_every_public_name() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"auto(?:class|function):: (\w+)", page))
    public = {name for name in [*bascule.__all__, *theory.__all__] if name != "theory"}
    assert shown == public
