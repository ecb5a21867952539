"""`bascule analyze` has the options that are declared for Python, in short and in full."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import bascule as bs
from bascule.analysis.call import ANALYSIS
from bascule.cli import analyze as cli
from bascule.cli.main import main

IN_GROUPS = {"log", "metric", "metrics", "assigned", "looks"}
"""Parameters of `analyze` that are groups of options, or several switches of the command."""


def test_every_option_is_declared_once_and_exists_in_both() -> None:
    python = set(inspect.signature(bs.analyze).parameters) - IN_GROUPS
    for part in (bs.Log, bs.LogMetric, bs.Assigned):
        python |= {field.name for field in dataclasses.fields(part)}
    # A metric has a name and its part of a line instead.
    assert python - set(ANALYSIS) == {"source", "value", "margin", "harm"}
    assert set(ANALYSIS) <= python
    assert set(ANALYSIS) <= set(inspect.signature(cli.command).parameters)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--per", "n", "--window", "7d"], "--per does not go with --window: leave one out"),
        (["--squares", "s"], "--squares needs --count: give both, or neither"),
        (["--count", "n", "--unit", "u"], "--count does not go with --unit: leave one out"),
        (["--test", "t", "--html", "x.html"], "--test does not go with --html: leave one out"),
        (["--error", "7"], "--error must lie strictly between 0 and 1 (got 7)"),
    ],
)
def test_messages_come_from_the_declarations(
    options: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["analyze", "log.csv", *options])
    assert line in capsys.readouterr().err
