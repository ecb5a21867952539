"""Tables as they come: what is found, what is asked, and what is said about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.analysis.log.reading import Question

pytestmark = pytest.mark.slow

UNITS = 600


def table(**changed: Any) -> dict[str, Any]:
    """A log with a row per unit over 20 days, with columns replaced, added or (None) left out."""
    rng = np.random.default_rng(3)
    columns = {
        "user_id": list(range(UNITS)),
        "variant": ["control", "green"] * (UNITS // 2),
        "revenue": np.round(rng.exponential(2.0, UNITS), 2).tolist(),
        "ts": [f"2026-03-{1 + i // 2 % 20:02}" for i in range(UNITS)],
    }
    return {name: column for name, column in (columns | changed).items() if column is not None}


@pytest.fixture(scope="module")
def usual() -> bs.analysis.Analysis:
    return bs.analyze(table())


def same_arms(one: bs.analysis.Analysis, other: bs.analysis.Analysis) -> bool:
    assert [arm.units for arm in one.arms] == [arm.units for arm in other.arms]
    return [arm.mean for arm in one.arms] == pytest.approx([arm.mean for arm in other.arms])


def test_what_was_read_is_said_everywhere(usual: bs.analysis.Analysis) -> None:
    found = bs.analyze(table(age=[31, 42] * 300), bs.LogMetric(window="2d"))
    assert found.reading.value == "revenue"
    assert found.reading.other_values == ("age",)
    line = "unit user_id; arm variant; time ts; value revenue (not used, though numbers: age)"
    assert line in str(found)
    assert "; window 2 days" in str(found)
    assert found.to_dict()["reading"]["other_values"] == ["age"]
    assert "revenue (not used, though numbers: age)" in found.html()


def test_of_two_likely_values_none_is_picked() -> None:
    with pytest.raises(bs.InputError, match=r"metric could be revenue or conversion\."):
        bs.analyze(table(conversion=[0, 1] * 300))
    with pytest.raises(bs.InputError, match=r"metric could be clicks or sales"):
        bs.analyze(table(revenue=None, clicks=[0, 1] * 300, sales=[1, 2] * 300))
    with pytest.raises(bs.InputError, match=r"metric could be revenue or visits"):
        bs.analyze(table(visits=[1, 2] * 300))
    assert bs.analyze(table(revenue=None, sales=[1.0, 2.0] * 300)).reading.value == "sales"


def test_names_are_found_in_any_case(usual: bs.analysis.Analysis) -> None:
    data = table()
    renamed = {
        "User ID": data["user_id"],
        "VARIANT": data["variant"],
        "Revenue": data["revenue"],
        "Event-Time": data["ts"],
    }
    assert same_arms(bs.analyze(renamed), usual)
    assert same_arms(bs.analyze(renamed, "revenue"), usual)
    with pytest.raises(bs.InputError, match="there are user_id, variant, revenue, ts"):
        bs.analyze(data, "price")


def test_every_row_may_be_a_unit(usual: bs.analysis.Analysis) -> None:
    data = table(user_id=None)
    assert any("every row is taken for a unit" in note for note in bs.analyze(data).notes)
    found = bs.analyze(bs.Log(data, row_is_unit=True))
    assert same_arms(found, usual)
    assert found.effects == usual.effects
    assert "unit every row" in str(found)
    blank = bs.analyze(
        bs.Log(table(user_id=None, revenue=[None, *data["revenue"][1:]]), row_is_unit=True)
    )
    assert blank.units == UNITS
    assert any("1 unit has no value" in check.message for check in blank.checks)


@pytest.mark.parametrize(
    ("times", "options", "first", "last"),
    [
        ([i // 2 % 20 * 1.0 for i in range(UNITS)], {"time": "ts"}, "1970-01-01", "1970-01-20"),
        ([1767225600 + 3600 * i for i in range(UNITS)], {}, "2026-01-01", "2026-01-25"),
        ([20260101 + i // 2 % 20 for i in range(UNITS)], {}, "2026-01-01", "2026-01-20"),
        ([201440 + i // 2 % 8 for i in range(UNITS)], {}, "2014-09-29", "2014-11-17"),
        (
            [201401 + i // 2 % 8 for i in range(UNITS)],
            {"time_format": "%G%V"},
            "2013-12-30",
            "2014-02-17",
        ),
        ([f"1962-03-{1 + i // 2 % 20:02}" for i in range(UNITS)], {}, "1962-03-01", "1962-03-20"),
        ([f"{1 + i // 2 % 20:02}/03/2026" for i in range(UNITS)], {}, "2026-03-01", "2026-03-20"),
        (
            [f"0{1 + i // 2 % 9}/03/2026 10:30" for i in range(UNITS)],
            {"time_format": "%d/%m/%Y %H:%M"},
            "2026-03-01",
            "2026-03-09",
        ),
    ],
)
def test_dates_of_many_forms(times: list[Any], options: Any, first: str, last: str) -> None:
    found = bs.analyze(**call_of(table(ts=times), **options))
    assert (found.first_day, found.last_day) == (first, last)
    assert found.flagged == ()
    named = ("day 0", "day 19") if first.startswith("1970") else (first, last)
    assert "{} to {}".format(*named) in str(found)
    data = found.to_dict()
    assert (data["first_day"], data["last_day"]) == named


@pytest.mark.parametrize(
    ("times", "line"),
    [
        (
            [f"0{1 + i // 2 % 9}/03/2026" for i in range(UNITS)],
            "'09/03/2026' in 'ts' has a day or a month",
        ),
        ([201401 + i // 2 % 8 for i in range(UNITS)], "201401 in 'ts' are months or weeks"),
        ([1_000_000 + i for i in range(UNITS)], "are neither days (up to 100,000) nor seconds"),
    ],
)
def test_times_that_are_unclear_are_asked_about(times: list[Any], line: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(table(ts=times))
    assert line in str(caught.value)


def test_a_csv_file_does_not_hide_which_comes_first(tmp_path: Path) -> None:
    lines = [f"{i},{'ab'[i % 2]},0{1 + i // 2 % 9}/03/2026,{i % 3}" for i in range(60)]
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("user_id,variant,date,y\n" + "\n".join(lines))
    for log in (tmp_path / "one.csv", tmp_path / "*.csv"):
        with pytest.raises(bs.InputError, match="a day or a month first"):
            bs.analyze(log)
        assert bs.analyze(bs.Log(log, time_format="%m/%d/%Y")).last_day == "2026-09-03"


def test_a_time_that_is_not_readable_is_shown() -> None:
    times = ["soon", "today", *table()["ts"][2:]]
    found = bs.analyze(table(ts=times))
    assert found.examples == {"time not readable": ("soon", "today")}
    assert "2 time not readable (such as 'soon', 'today')" in str(found)


def test_without_times_nothing_is_said_about_time() -> None:
    found = bs.analyze(table(ts=None))
    assert found.days_left is None
    wanted = "No difference shown at a single look (p = 0.86, --once) or at several"
    assert found.headline == wanted
    assert found.saved is None
    assert "day" not in found.evidence.explanation
    (gaps,) = (check for check in found.checks if check.name == "gaps")
    assert (gaps.made, gaps.message) == (False, "the log has no times")
    who = {name: table()[name] for name in ("user_id", "variant")}
    events = {"user_id": [1, 2, 3, 3], "revenue": [5.0, 1.0, 2.0, 2.0]}
    both = bs.analyze(events, assignments=who)
    assert [arm.units for arm in both.arms] == [300, 300]
    assert both.arms[1].mean == pytest.approx(9.0 / 300)
    with pytest.raises(bs.InputError, match="window needs to know when"):
        bs.analyze(events, bs.LogMetric(window="3d"), assignments=who)


def test_two_tables_may_call_their_columns_differently() -> None:
    data = table()
    who = {"uid": data["user_id"], "variant": data["variant"], "assigned": data["ts"]}
    clicks = {"visitor": [0, 1, 1], "seen": ["2026-03-04"] * 3}
    found = bs.analyze(
        clicks,
        bs.LogMetric(window="7d"),
        unit="visitor",
        time="seen",
        assignments=bs.Log(who, unit="uid", time="assigned"),
    )
    assert found.units == UNITS
    assert found.reading.value is None
    assert "value every event counts as 1" in str(found)
    assert [arm.mean for arm in found.arms] == pytest.approx([1 / 182, 2 / 182], rel=0.1)


def test_spellings_of_an_arm_are_one_arm(usual: bs.analysis.Analysis) -> None:
    arms = table()["variant"]
    mixed = [" Control", "GREEN", *arms[2:]]
    found = bs.analyze(table(variant=mixed))
    assert same_arms(found, usual)
    (check,) = [check for check in found.checks if check.name == "arm names"]
    assert not check.flagged
    assert "2 rows (0.33 %)" in check.message
    many = bs.analyze(table(variant=[a.upper() if i % 9 == 0 else a for i, a in enumerate(arms)]))
    assert same_arms(many, usual)
    assert [check.name for check in many.flagged] == ["arm names"]


def test_words_among_numbers_are_read_and_counted() -> None:
    words = ["yes", "No", " TRUE", "0", "1"] * (UNITS // 5)
    found = bs.analyze(table(revenue=None, bought=words))
    assert found.arms[0].mean == pytest.approx(0.6)
    assert "words for numbers" in {check.name for check in found.flagged}
    clean = bs.analyze(table(revenue=None, bought=["yes", "no"] * (UNITS // 2)))
    assert "words for numbers" not in {check.name for check in clean.checks}


def test_text_where_numbers_belong_is_never_dropped_quietly() -> None:
    half = [f"{v}" if i % 2 else f"{v} EUR" for i, v in enumerate(table()["revenue"])]
    with pytest.raises(bs.InputError, match="only green has units that can be used"):
        bs.analyze(table(revenue=half))
    some = [f"{v}" if i % 20 else f"{v:.0f} EUR" for i, v in enumerate(table()["revenue"])]
    found = bs.analyze(table(revenue=some))
    (check,) = [check for check in found.flagged if check.name == "unusable rows"]
    assert "30 rows (5 %)" in check.message
    assert "such as '0 EUR'" in check.message


def test_copies_of_rows_are_counted_and_dropped_on_request(usual: bs.analysis.Analysis) -> None:
    doubled = {name: [*column, *column[:60]] for name, column in table().items()}
    found = bs.analyze(doubled)
    (check,) = [check for check in found.flagged if check.name == "copies of rows"]
    assert check.message.startswith("60 rows (9.1 %)")
    assert "`query` SELECT DISTINCT * FROM log" in check.message
    dropped = bs.analyze(bs.Log(doubled, query="SELECT DISTINCT * FROM log"))
    assert same_arms(dropped, usual)
    assert dropped.rows == usual.rows


def test_units_in_two_arms_are_shown() -> None:
    twice = {name: [*column, *column[:2]] for name, column in table().items()}
    twice["variant"][-2:] = ["green", "control"]
    found = bs.analyze(twice)
    (check,) = [check for check in found.flagged if check.name == "units in two arms"]
    assert "(such as '0', '1'); 2 of them are excluded" in check.message


def test_the_control_is_the_first_arm() -> None:
    found = bs.analyze(table(), control="green")
    assert found.design.arms == ("green", "control")
    assert "control - green" in str(found)
    with pytest.raises(bs.InputError, match="control must be one of control, green"):
        bs.analyze(table(), control="blue")


def test_weeks_compare_what_days_cannot() -> None:
    # Each day has one arm only.
    alternating = [f"2026-03-{1 + i % 20:02}" for i in range(UNITS)]
    found = bs.analyze(table(ts=alternating))
    (check,) = [check for check in found.flagged if check.name == "lone arms"]
    assert check.message.startswith("100 % of the units of control and green came in a day")
    assert 'block="week" would use' in check.message
    assert not np.isfinite(found.effects[0].high)
    merged = bs.analyze(table(ts=alternating), assigned=bs.Assigned(block="week"))
    assert np.isfinite(merged.effects[0].high)
    assert len(merged.days) == 3
    assert merged.days[-1].units == (300, 300)
    assert not [check for check in merged.flagged if check.name == "lone arms"]
    assert "Units that came in the same week are" in merged.evidence.explanation


def test_where_means_and_difference_disagree_the_text_says_why() -> None:
    day = [i // 2 % 20 for i in range(UNITS)]
    ramped = ["green" if (i % 6 == 0) == (d < 10) else "control" for i, d in enumerate(day)]
    noisy = [d + v for d, v in zip(day, table()["revenue"], strict=True)]
    found = bs.analyze(table(variant=ramped, revenue=noisy))
    assert any("did not have the same shares all the time" in note for note in found.notes)


def daily_counts() -> Any:
    import pandas as pd

    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "date": [f"2026-03-{1 + i // 2:02}" for i in range(40)],
            "variant": ["control", "green"] * 20,
            "impressions": rng.integers(300, 400, 40),
        }
    )
    rate = np.where(frame.variant == "green", 0.09, 0.05)
    return frame.assign(clicks=rng.binomial(frame.impressions, rate))


def test_counts_are_the_units_that_they_count() -> None:
    import pandas as pd

    counts = daily_counts()
    with pytest.raises(bs.InputError, match="squares is missing"):
        bs.analyze(bs.Log(counts, count="impressions"))
    found = bs.analyze(bs.Log(counts, count="impressions"), bs.LogMetric(outcome=bs.Bernoulli()))
    units = counts.loc[counts.index.repeat(counts.impressions)]
    clicked = [np.arange(row.impressions) < row.clicks for row in counts.itertuples(index=False)]
    log = pd.DataFrame({"date": units.date, "variant": units.variant, "y": np.concatenate(clicked)})
    single = bs.analyze(bs.Log(log, row_is_unit=True))
    assert found.effects == single.effects
    assert found.once == single.once
    assert found.guarantee == "proven"
    assert found.units == counts.impressions.sum()
    assert "number of units impressions" in str(found)


def test_the_last_of_snapshots_is_used() -> None:
    counts = daily_counts()
    by_arm = counts.groupby("variant")
    totals = counts.assign(
        impressions=by_arm.impressions.cumsum(),
        clicks=by_arm.clicks.cumsum(),
    )
    options: dict[str, Any] = {"count": "impressions", "cumulative": True}
    found = bs.analyze(**call_of(totals, outcome=bs.Bernoulli(), **options))
    assert found.guarantee == "asymptotic"
    assert found.days[-1].units == tuple(by_arm.impressions.sum())
    assert (
        found.once
        == bs.analyze(
            bs.Log(counts, count="impressions"), bs.LogMetric(outcome=bs.Bernoulli())
        ).once
    )
    # The same numbers as sums of squares: what is not known of their skewness is said.
    squared = totals.assign(squares=totals.clicks)
    other = bs.analyze(**call_of(squared, value="clicks", squares="squares", **options))
    assert other.effects[0].low == pytest.approx(found.effects[0].low, rel=1e-9)
    assert "skewed outcomes" in {check.name for check in other.checks if not check.made}
    falling = totals.assign(impressions=totals.impressions[::-1].to_numpy())
    with pytest.raises(bs.InputError, match="count falls over time"):
        bs.analyze(**call_of(falling, outcome=bs.Bernoulli(), **options))


def test_sums_that_are_no_shares_need_squares() -> None:
    counts = daily_counts().assign(revenue=lambda frame: 30.0 * frame.clicks)
    log = bs.Log(counts, count="impressions")
    for outcome in (bs.Bernoulli(), None):
        with pytest.raises(bs.InputError, match=r"a sum of 0/1 outcomes is a whole.*squares="):
            bs.analyze(log, bs.LogMetric("revenue", outcome=outcome))
    # Two rows of a day that are no whole numbers, though their sum is one.
    halves = pd.concat([counts, counts]).assign(clicks=lambda frame: frame.clicks + 0.5)
    with pytest.raises(bs.InputError, match=r"has \d+\.5 on 2"):
        bs.analyze(
            bs.Log(halves, count="impressions"), bs.LogMetric("clicks", outcome=bs.Bernoulli())
        )
    # The call that is shown does not name 0/1 outcomes for such sums.
    with pytest.raises(Question, match=r"squares='COLUMN'\), 'revenue'") as question:
        bs.analyze(counts, "revenue")
    assert "Bernoulli" not in str(question.value)
    with pytest.raises(bs.InputError, match="count does not go with window"):
        bs.analyze(log, bs.LogMetric("clicks", window="1d"))


def test_kinds_of_events_are_counted_by_column_and_kind() -> None:
    log = {
        "user": [0, 0, 1, 1, 2, 3],
        "variant": ["a", "a", "b", "b", "a", "b"],
        "event": ["seen", "buy", "seen", "buy", "seen", "seen"],
        "amount": [None, 3.0, None, 4.0, None, None],
    }
    with pytest.raises(bs.InputError, match=r"no column 'buy', but event has.*'event=buy'"):
        bs.analyze(log, "buy")
    with pytest.raises(bs.InputError, match=r"kinds of events.*'event=seen' or 'event=buy'"):
        bs.analyze(log, "event")
    assert [arm.mean for arm in bs.analyze(log, "event=buy").arms] == [0.5, 0.5]


def test_a_log_that_has_ended_is_answered_by_its_single_look() -> None:
    rng, n = np.random.default_rng(6), 4000
    arm = rng.integers(2, size=n)
    log = {
        "unit": list(range(n)),
        "arm": np.take(["a", "b"], arm).tolist(),
        "value": (rng.random(n) < 0.2 + 0.035 * arm).astype(int).tolist(),
    }
    ended = bs.analyze(log)
    assert ended.decision is None
    assert ended.headline.startswith("If this is the only look, b is the best arm (p = ")
    once = bs.analyze(log, looks=1)
    assert once.headline.startswith("b is the best arm by one look")
    # A log whose last day is today is that of a test that runs.
    today = datetime.now(UTC).date()
    days = [str(today - timedelta(days=i % 5)) for i in range(n)]
    assert bs.analyze(log | {"ts": days}).headline.startswith("No decision yet")
