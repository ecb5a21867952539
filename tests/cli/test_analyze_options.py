"""Whatever `analyze` can do in Python it can do on the command line, and the other way round."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import bascule as bs
from bascule.cli import analyze as cli
from bascule.cli.main import main

OF_THE_OUTCOME = {"sigma", "low", "high", "sigma_unit", "sigma_noise"}
"""The numbers of an outcome model, which Python takes as one value."""

OF_A_LINE = {"margin", "harm"}
"""Parts of a metric that the command takes in the line of `--metric`."""

OF_THE_COMMAND = {
    "context": "",
    "help_all": "",
    "once": "looks=1",
    "today": 'looks="now"',
    "sequential": "bs.analyze_each of a folder",
    "test": "bs.analyze_each with a column",
    "days": "Analysis.days",
    "csv": "Analysis.day_rows",
    "figure": "Analysis.plot",
    "html": "Analysis.save_html",
    "as_json": "Analysis.to_dict",
    "assignments_query": "bs.Log of the assignments",
    "assignments_unit": "bs.Log of the assignments",
    "assignments_time": "bs.Log of the assignments",
}
"""What the command does with an answer, or calls otherwise, and what does it in Python."""


def test_every_option_exists_in_both() -> None:
    python = set(inspect.signature(bs.analyze).parameters) - {"metrics", "assigned", "looks"}
    for part in (bs.Log, bs.LogMetric, bs.Assigned):
        python |= {field.name for field in dataclasses.fields(part)}
    python -= {"source", "value"}
    command = set(inspect.signature(cli.command).parameters)
    assert command - python == OF_THE_OUTCOME | set(OF_THE_COMMAND)
    assert python - command == OF_A_LINE


def test_help_is_short_and_all_of_it_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = []
    for asked in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main(["analyze", asked])
        shown.append(capsys.readouterr().out)
    assert len(shown[0].splitlines()) <= 80
    for panel in ("Columns", "Metrics", "Looks", "Output"):
        assert f"─ {panel} " in shown[0]
    assert "--least-probability" not in shown[0]
    assert "--least-probability" in shown[1]
