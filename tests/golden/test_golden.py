"""Decisions, their times, intervals and forecasts are those of `golden.json`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.golden.cases import FILE, cases, rounded

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
CASES = dict(cases())
COMPILED_ALONE = ("guardrails", "numeric margin", "bernoulli horizon")
"""Parts of the names of played cases whose loops hardly another test compiles."""


def marked(name: str) -> Any:
    """Return a case as a parameter: those whose loops take long to compile are slow."""
    is_slow = name.startswith("played") and any(part in name for part in COMPILED_ALONE)
    return pytest.param(name, marks=pytest.mark.slow if is_slow else ())


def different(path: str, golden: Any, found: Any) -> list[str]:
    """Say where two values differ by more than rounding."""
    if isinstance(golden, dict) and isinstance(found, dict) and golden.keys() == found.keys():
        return [
            line for key in golden for line in different(f"{path}.{key}", golden[key], found[key])
        ]
    if isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        pairs = enumerate(zip(golden, found, strict=True))
        return [line for at, pair in pairs for line in different(f"{path}[{at}]", *pair)]
    if isinstance(golden, float) and isinstance(found, (int, float)):
        # Bounds are searched for, and end within 1e-7 of each other on other processors.
        close = found == pytest.approx(golden, rel=1e-8, abs=1e-7)
        return [] if close else [f"{path}: {golden} became {found}"]
    return [] if golden == found else [f"{path}: {golden} became {found}"]


def test_the_matrix_is_that_of_the_file() -> None:
    assert list(CASES) == list(GOLDEN)


@pytest.mark.parametrize("name", [marked(name) for name in GOLDEN])
def test_results_are_those_of_the_file(name: str) -> None:
    assert not different(name, GOLDEN[name], rounded(CASES[name]()))
