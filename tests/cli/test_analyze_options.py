"""Whatever `analyze` can do in Python it can do on the command line, and the other way round."""

from __future__ import annotations

import inspect

import bascule as bs
from bascule.cli import analyze as cli

CALLED = {
    "events": "log",
    "metrics": "metric",
    "looks": "once",
    "by_day": "today",
}
"""Options of Python that have another name on the command line."""

OF_THE_OUTCOME = {"sigma", "low", "high", "sigma_unit", "sigma_noise"}
"""The numbers of an outcome model, which Python takes as one value."""

OF_THE_COMMAND = {
    "sequential": "bs.analyze_each of a folder",
    "test": "bs.analyze_each with a column",
    "days": "Analysis.days",
    "csv": "Analysis.to_rows",
    "figure": "Analysis.plot",
    "html": "Analysis.save_html",
    "as_json": "Analysis.to_dict",
}
"""What the command does with an answer, and what does it in Python."""


def test_every_option_exists_in_both() -> None:
    python = {CALLED.get(name, name) for name in inspect.signature(bs.analyze).parameters}
    command = set(inspect.signature(cli.command).parameters)
    assert command - python == OF_THE_OUTCOME | set(OF_THE_COMMAND)
    assert python - command == set()
    for method in ("days", "to_rows", "plot", "save_html", "to_dict"):
        assert hasattr(bs.Analysis, method)
    assert "test" in inspect.signature(bs.analyze_each).parameters
