"""Outcomes that are missing: one rule for null and NaN, a choice, and a check."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.cli.main import main

UNITS = 2000


def log(absent: Any, share: tuple[int, int] = (10, 10), **columns: Any) -> dict[str, list[Any]]:
    """A row per unit, every third with 1; of each arm one in so many has `absent` as its value."""
    values: list[Any] = [float(i % 3 == 0) for i in range(UNITS)]
    for arm in (0, 1):
        for place in range(arm, UNITS, 2 * share[arm]):
            values[place] = absent
    return {
        "unit": list(range(UNITS)),
        "arm": ["a", "b"] * (UNITS // 2),
        "value": values,
        "time": [f"2026-01-0{1 + i * 8 // UNITS} 12:00" for i in range(UNITS)],
        **columns,
    }


def means(found: bs.analysis.Analysis) -> list[float | None]:
    return [arm.mean for arm in found.arms]


MODES: list[dict[str, Any]] = [
    {},
    {"looks": "now"},
    {"window": "1d", "until": "2026-01-20"},
]


@pytest.mark.parametrize("options", MODES, ids=str)
def test_null_and_nan_are_the_same(options: dict[str, Any]) -> None:
    null, nan = (
        bs.analyze(**call_of(log(None), **options)),
        bs.analyze(**call_of(log(math.nan), **options)),
    )
    assert (null.arms, null.excluded, null.notes) == (nan.arms, nan.excluded, nan.notes)
    given = [value for value in log(None)["value"][::2] if value is not None]
    assert null.arms[0].mean == pytest.approx(sum(given) / (UNITS / 2))
    assert any("200 units have rows without any value, and count as 0" in x for x in null.notes)


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("absent", [None, math.nan])
def test_units_without_a_value_can_be_excluded(absent: Any, options: dict[str, Any]) -> None:
    found = bs.analyze(**call_of(log(absent), missing="exclude", **options))
    given = [value for value in log(None)["value"][::2] if value is not None]
    assert found.arms[0].mean == pytest.approx(sum(given) / len(given))
    assert found.arms[0].counted == len(given)
    assert found.excluded["unit without any value"] == 200
    assert any("fair only if" in note for note in found.notes)


def test_a_log_without_times_may_have_copies_and_exclude_what_is_missing() -> None:
    log = {"unit": [*range(40), 0], "arm": [*"ab" * 20, "a"], "score": [None, *range(40)]}
    found = bs.analyze(log, bs.LogMetric("score", missing="exclude"))
    assert found.units == 40
    assert "copies" not in {check.name for check in found.flagged}


def test_another_number_can_stand_for_them() -> None:
    found, zero = bs.analyze(log(None), bs.LogMetric(missing=1.0)), bs.analyze(log(None))
    assert found.arms[0].mean == pytest.approx((zero.arms[0].mean or 0.0) + 0.1)


def test_text_that_is_blank_or_nan_is_no_value_either() -> None:
    text = [" " if v is None else str(v) for v in log(None)["value"]]
    text[0] = "NaN"
    assert means(bs.analyze(log(None, value=text))) == means(bs.analyze(log(None)))


def test_values_that_are_missing_more_often_in_one_arm_are_flagged() -> None:
    alike = bs.analyze(log(None))
    (check,) = (check for check in alike.checks if check.name == "missing outcomes")
    assert not check.flagged
    unlike = bs.analyze(log(math.nan, (10, 4)))
    (check,) = (check for check in unlike.flagged if check.name == "missing outcomes")
    assert "a 10 %, b 25 %" in check.message
    assert not any(c.name == "missing outcomes" for c in bs.analyze(log(0.0)).checks)


def test_units_of_an_assignment_table_are_counted_too() -> None:
    data = log(None)
    who = {name: data[name] for name in ("unit", "arm", "time")}
    events = {name: data[name][: UNITS // 2] for name in ("unit", "value", "time")}
    asked: dict[str, Any] = {"assignments": who, "window": "1d", "until": "2026-01-20"}
    found = bs.analyze(**call_of(events, **asked))
    assert found.units == UNITS
    assert any("100 units have rows without any value" in note for note in found.notes)
    given = bs.analyze(**call_of(events, missing="exclude", **asked))
    assert given.units == UNITS // 2 - 100
    assert given.excluded["unit without any value"] == UNITS // 2 + 100


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"missing": "drop"}, 'missing must be a number, "zero" or "exclude" (got \'drop\')'),
        ({"missing": math.inf}, "missing must be finite"),
        ({"missing": 3.0, "outcome": bs.Bounded(0, 1)}, "value must lie between 0 and 1"),
        ({"missing": "exclude", "unit": "half"}, "needs outcomes that are final"),
    ],
)
def test_a_mistake_is_one_line(options: dict[str, Any], line: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(**call_of(log(None, half=[i // 4 * 2 + i % 2 for i in range(UNITS)]), **options))
    assert line in str(caught.value)


def test_the_command_takes_a_number_or_exclude(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    rows = zip(*log("").values(), strict=True)
    path.write_text("unit,arm,value,time\n" + "\n".join(",".join(map(str, row)) for row in rows))
    for given, line in (
        ("exclude", "excluded: 200 (unit without any value)"),
        ("0.5", "count as 0.5"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["analyze", str(path), "--missing", given])
        assert caught.value.code == 0
        assert line in capsys.readouterr().out


@pytest.mark.parametrize("options", [*MODES, {"rows": 2}], ids=str)
def test_limits_cap_outcomes_in_every_mode(options: dict[str, Any]) -> None:
    data, asked = log(0.0), dict(options)
    data["value"] = [50.0 if i % 100 < 2 else value for i, value in enumerate(data["value"])]
    if asked.pop("rows", 1) == 2:
        # Two rows a unit, so that outcomes grow.
        data = {name: [*column, *column] for name, column in data.items()}
    found = bs.analyze(**call_of(data, outcome=bs.Bounded(0, 10), **asked))
    assert found.excluded["outcome beyond the limits, counted as the nearest"] == 40
    assert max(mean or 0.0 for mean in means(found)) < 1.0
    assert found.guarantee == ("proven" if len(data["unit"]) == UNITS else "asymptotic")


def test_an_arm_without_a_counted_unit_has_no_difference() -> None:
    rows = log(None)
    rows["arm"][: UNITS // 100] = ["c"] * (UNITS // 100)
    rows["value"][: UNITS // 100] = [None] * (UNITS // 100)
    found = bs.analyze(rows, bs.LogMetric("value", missing="exclude"))
    unknown = {each.treatment: each for each in found.contrasts}["c"]
    assert math.isnan(unknown.difference)
    assert unknown.lift is not None
    assert math.isnan(unknown.lift)
    assert (unknown.low, unknown.high) == (-1.0, 1.0)
    row = next(line for line in str(found).splitlines() if "c - a" in line)
    assert row.split()[3] == "–", row
