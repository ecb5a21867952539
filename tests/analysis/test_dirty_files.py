"""Files as people export them: read as they were meant, or refused with what to do."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.cli.main import main

RNG = np.random.default_rng(5)
UNITS = 400
ARMS = RNG.choice(["control", "green"], UNITS)
BOUGHT = (RNG.random(UNITS) < np.where(ARMS == "green", 0.5, 0.2)).astype(int)
SPENT = np.where(BOUGHT, np.round(RNG.gamma(2.0, 900.0, UNITS), 2), 0.0)
DAYS = 1 + np.arange(UNITS) // 40
MEANS = {arm: SPENT[arm == ARMS].mean() for arm in ("control", "green")}
SHARES = {arm: BOUGHT[arm == ARMS].mean() for arm in ("control", "green")}

HEAD = "user_id,variant,ts,converted"


def english(value: float) -> str:
    return f'"{value:,.2f}"'


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def lines(write: Callable[[int], str]) -> list[str]:
    return [write(i) for i in range(UNITS)]


def plain(i: int) -> str:
    return f"{i},{ARMS[i]},2026-01-{DAYS[i]:02},{BOUGHT[i]}"


def spreadsheet_german() -> bytes:
    """A byte-order mark, semicolons, decimal commas, dates with dots, and empty last lines."""
    rows = lines(lambda i: f"{i};{ARMS[i]};{DAYS[i] + 10}.01.2026;{german(SPENT[i])}")
    return "\r\n".join(["\ufeffuser_id;variant;date;revenue", *rows, "", ""]).encode()


def spreadsheet_english() -> bytes:
    """Thousands with commas, months first, and a row of totals below."""
    rows = lines(lambda i: f"{i},{ARMS[i]},01/{DAYS[i] + 10}/2026,{english(SPENT[i])}")
    rows.append(f"Total,,,{english(SPENT.sum())}")
    return "\n".join(["User ID,Variant,Date,Revenue", *rows]).encode()


def totals_below() -> bytes:
    rows = lines(lambda i: f"{i},{ARMS[i]},2026-01-{DAYS[i]:02},{SPENT[i]}")
    return "\n".join(["user_id,variant,ts,revenue", *rows, f",Total,,{SPENT.sum()}"]).encode()


def words() -> bytes:
    """Yes and no in every spelling."""
    spelled = (("no", "FALSE", "0", "False", "n"), ("Yes", "TRUE", "1", "true", "y"))
    rows = lines(lambda i: f"{plain(i)[:-1]}{spelled[BOUGHT[i]][i % 5]}")
    return "\n".join([HEAD, *rows]).encode()


def two_alphabets_zipped() -> bytes:
    """Arms in two alphabets, one of them written in two ways, ends of lines mixed, compressed."""
    names = {"control": ("Контроль", "Контроль\u200b"), "green": ("gr\u00fcn", "gru\u0308n")}
    rows = lines(lambda i: plain(i).replace(str(ARMS[i]), names[ARMS[i]][i % 2]))
    ends = ("\n" if i % 3 else "\r\n" for i in range(UNITS + 1))
    text = "".join(row + end for row, end in zip([HEAD, *rows], ends, strict=True))
    return gzip.compress(text.encode())


def sixteen_bits() -> bytes:
    return "\r\n".join([HEAD, *lines(plain)]).encode("utf-16")


def western() -> bytes:
    rows = lines(lambda i: plain(i).replace("green", "grün"))
    return "\n".join([HEAD, *rows]).encode("latin-1")


def zones_and_zeros() -> bytes:
    """Units with leading zeros that would be one as numbers; times of three zones; empty lines."""

    def row(i: int) -> str:
        time = f"2026-01-{DAYS[i]:02}T12:00:00{('Z', '+09:00', '-08:00')[i % 3]}"
        return f"{'0' * (1 + i % 2)}{i // 2:04},{ARMS[i]},{time},{BOUGHT[i]}" + "\n" * (i % 50 == 0)

    return "\n".join([HEAD, *lines(row)]).encode()


def long_numbers() -> bytes:
    """Units beyond what 64 bits hold, each with a row a day for two days."""
    rows = (
        f"{10**20 + i},{ARMS[i]},2026-01-0{1 + day} 3:05:00,{BOUGHT[i] * day}"
        for i in range(UNITS)
        for day in (0, 1)
    )
    return "\n".join(["A report of our test", "", HEAD, *rows]).encode()


def put_together() -> bytes:
    """Two exports below each other, with lines above and below the tables."""
    rows = lines(plain)
    above, below = ["A report of our test", "by Ann", ""], ["", "Source: warehouse", "* draft"]
    return "\n".join([*above, HEAD, *rows[:150], HEAD, *rows[150:], *below]).encode()


def days_and_one_word() -> bytes:
    rows = lines(lambda i: f"{i},{ARMS[i]},{DAYS[i]},{BOUGHT[i]}")
    return "\n".join(["user_id,variant,day,converted", *rows, "x,green,soon,0"]).encode()


def weeks() -> bytes:
    rows = lines(lambda i: f"{i},{ARMS[i]},2026-W{DAYS[i]:02},{BOUGHT[i]}")
    return "\n".join(["user_id,variant,week,converted", *rows]).encode()


def dots() -> bytes:
    rows = lines(lambda i: f"{i},{ARMS[i]},2026.01.{DAYS[i]:02} 10:30,{BOUGHT[i]}")
    return "\n".join([HEAD, *rows]).encode()


def short_years() -> bytes:
    """Dates that DuckDB takes for days of the year 1, and an arm that a program did not know."""
    rows = lines(lambda i: f"{i},{ARMS[i]},1/{10 + DAYS[i]}/26,{BOUGHT[i]}")
    return "\n".join([HEAD, *rows, "900,undefined,1/13/26,1"]).encode()


@pytest.mark.parametrize(
    ("make", "name", "options", "means", "said"),
    [
        (put_together, "a.csv", {}, SHARES, "excluded: 1 (line that repeats the names"),
        (days_and_one_word, "a.csv", {}, SHARES, "excluded: 1 (time not readable)"),
        (weeks, "a.csv", {}, SHARES, "2025-12-29 to 2026-03-02"),
        (dots, "a.csv", {}, SHARES, "(read as %Y.%m.%d %H:%M)"),
        (short_years, "a.csv", {}, SHARES, "2026-01-11 to 2026-01-20"),
        (spreadsheet_german, "a.csv", {}, MEANS, "value revenue (read with a decimal comma)"),
        (spreadsheet_english, "a.csv", {}, MEANS, "excluded: 1 (row of totals)"),
        (totals_below, "a.csv", {}, MEANS, "excluded: 1 (no unit)"),
        (words, "a.csv", {}, SHARES, "! words for numbers"),
        (two_alphabets_zipped, "a.csv.gz", {}, SHARES, "! arm names: "),
        (sixteen_bits, "a.csv", {}, SHARES, "no unit was seen in two arms"),
        (western, "a.csv", {"encoding": "latin-1"}, SHARES, "grün - control"),
        (western, "a.csv", {}, SHARES, "not in UTF-8, read as cp1252: state encoding"),
        (zones_and_zeros, "a.csv", {}, SHARES, "2026-01-01 to 2026-01-10"),
        (long_numbers, "a.csv", {}, SHARES, "800 rows, 400 units"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_it_is_read_as_it_was_meant(
    make: Callable[[], bytes],
    name: str,
    options: dict[str, Any],
    means: dict[str, float],
    said: str,
    tmp_path: Path,
) -> None:
    (tmp_path / name).write_bytes(make())
    found = bs.analyze(**call_of(tmp_path / name, looks="now", **options))
    assert found.units == UNITS
    assert sorted(arm.mean or 0.0 for arm in found.arms) == pytest.approx(sorted(means.values()))
    assert said in str(found)
    assert ("(without 3 lines above the table)" in str(found)) == (make is put_together)


def written(head: str, rows: Iterable[str]) -> bytes:
    return "\n".join([head, *rows]).encode()


def money(form: Callable[[float], str]) -> bytes:
    rows = lines(lambda i: f"{i};{ARMS[i]};{form(SPENT[i])}")
    return written("user_id;variant;revenue", rows)


@pytest.mark.parametrize(
    ("data", "name", "options", "line"),
    [
        (money(lambda x: f"{'$€'[int(x > 900)]}{x:.2f}"), "a.csv", {}, "has amounts in $ and €"),
        (money(lambda x: f"{max(x, 1000):,.0f}"), "a.csv", {}, "ambiguous commas, such as '"),
        (
            money(lambda x: (english, german)[int(x > 900)](x)),
            "a.csv",
            {},
            "thousands separators and as decimal",
        ),
        (money(lambda x: f"{x:.1f}{'%€'[int(x > 900)]}"), "a.csv", {}, "has amounts in € and %"),
        (
            written(HEAD, lines(lambda i: f"{i},{ARMS[i]},{1767225600 * 1000 ** (i % 2)},1")),
            "a.csv",
            {},
            "are times since 1970 in seconds in some rows and in smaller units in others",
        ),
        (money(german), "a.csv", {"decimal": "p"}, 'decimal must be "." or ","'),
        (western(), "a.csv", {"encoding": "ascii"}, "is not ascii"),
        (western(), "a.csv", {"encoding": "latin-99"}, "encoding must be a name such as latin-1"),
        (b"{}", "a.jsonl", {"encoding": "latin-1"}, "encoding goes with CSV files"),
        (
            written("user_id,variant,variant,converted", lines(plain)),
            "a.csv",
            {"arm": "variant"},
            "There are user_id, variant (1), variant (2), converted",
        ),
        (written(plain(0), lines(plain)[1:]), "a.csv", {}, "(the file has no line with names)"),
        (
            written(HEAD, lines(lambda i: f'{i},{ARMS[i]},"Jan {DAYS[i]}, 2026",{i // 3 % 2}')),
            "a.csv",
            {"time": HEAD.split(",")[2]},
            "400 rows: time not readable, as 'Jan 1, 2026'): give time_format",
        ),
        (
            written(HEAD, lines(lambda i: f"{i},{ARMS[i]},26/01/{DAYS[i]:02},1")),
            "a.csv",
            {},
            "has a day or a year first: give time_format (--time-format) %d/%m/%y or %y/%m/%d",
        ),
        (b"x", "a.xlsx", {}, "save the sheet as CSV"),
        (b"x", "a.txt", {}, "rename it to end in .csv"),
        (b"x", "a.sqlite", {}, "give the URL sqlite:// followed by the path, and a query"),
    ],
    ids=range(16),
)
def test_what_is_unclear_is_asked(
    data: bytes, name: str, options: dict[str, Any], line: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(bs.InputError) as caught:
        bs.analyze(**call_of(tmp_path / name, looks="now", **options))
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_decimal_sign_can_be_stated(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(money(lambda x: f"{max(x, 1000):,.0f}"))
    by_sign = {
        sign: bs.analyze(bs.Log(tmp_path / "a.csv", decimal=sign), looks="now").arms[0].mean or 0.0
        for sign in (".", ",")
    }
    assert by_sign["."] == pytest.approx(1000.0 * by_sign[","])


def test_files_of_the_web_are_not_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["analyze", "https://me:secret@example.org/log.parquet?key=1"])
    line = capsys.readouterr().err
    assert "give the path of a copy of https://example.org/log.parquet, or, in Python," in line
    assert "secret" not in line


def test_units_without_a_name_are_not_one_unit() -> None:
    log = {
        "unit": ["", "null", "a", "b", "c", "d"],
        "arm": ["x", "y"] * 3,
        "value": [1, 0, 1, 0, 1, 1],
    }
    found = bs.analyze(log, looks="now")
    assert (found.units, found.excluded) == (4, {"no unit": 2})


def small(**changed: list[Any]) -> dict[str, Any]:
    """Twenty units an arm, too few of skewed outcomes for an interval."""
    spent = [round(float(x), 2) for x in np.random.default_rng(1).exponential(3.0, 40)]
    units = [f"u{i}" for i in range(40)]
    return {"user_id": units, "variant": ["a", "b"] * 20, "revenue": spent} | changed


def large(**changed: list[Any]) -> dict[str, Any]:
    """Twenty days with 260 units a day."""
    days = [f"2026-03-{1 + i % 20:02}" for i in range(5200)]
    flags = [int(i % 7 < 3) for i in range(5200)]
    arms = ["a", "b"] * 2600
    return {"user_id": list(range(5200)), "variant": arms, "ts": days, "score": flags} | changed


PLAIN = small()
LACKING = [None if i % (23 if i % 2 else 31) == 1 else 1.0 * (i % 3) for i in range(5200)]
ODD: dict[str, tuple[dict[str, Any], str]] = {
    "one outcome far out, without an interval": (
        small(revenue=[257.0, *PLAIN["revenue"][1:]]),
        "! extreme values: one unit of a has an outcome of 257",
    ),
    "a sum of all under another name": (
        {
            "user_id": [*PLAIN["user_id"], "u99"],
            "variant": [*PLAIN["variant"], "a"],
            "revenue": [*PLAIN["revenue"], sum(PLAIN["revenue"])],
        },
        "which is the sum of all others",
    ),
    "a split for one look and for many": (
        large(variant=["a"] * 2500 + ["b"] * 2700),
        "p = 0.2 however often you look; p = 0.0055 if this is the only look",
    ),
    "values that one arm lacks": (large(score=LACKING), "however often you look; p = "),
    "a code for what is missing": (
        small(revenue=[-99.0, *PLAIN["revenue"][1:]]),
        "! extreme values: the lowest outcome is -99, which often stands for a value that is miss",
    ),
    "two codes": (
        large(score=[1 + i % 7 // 3 // 2 for i in range(5200)]),
        "! two values: every outcome is 1 or 2: if these are codes, lifts have no meaning; for the "
        "share with 2, take the metric 'score=2'",
    ),
}


def test_where_nothing_is_compared_there_is_no_difference() -> None:
    """The arms take turns from day to day."""
    log = large(score=[i % 10 / 7 for i in range(5200)])
    found = bs.analyze(log)
    (effect,) = found.effects
    assert np.isnan(effect.difference)
    assert np.isnan(found.contrasts[0].lift or 0.0)
    assert found.to_dict()["effects"][0]["difference"] is None
    assert "  b - a       –  none yet" in str(found)
    # An arm that was compared with the leader is nearer than one that was not.
    arms = ["bc"[i // 20 % 2] if i % 2 else "a" for i in range(5200)]
    three = bs.analyze(log | {"variant": arms})
    assert three.leader != "a"
    assert [np.isnan(effect.difference) for effect in three.leads] == [False, True]
    (row,) = bs.analyze_each(log | {"test": ["t"] * 5200}, "score", test="test").rows
    assert row.difference is None
    bounded = bs.analyze(log, bs.LogMetric("score", outcome=bs.Bounded(0, 2)))
    assert (bounded.effects[0].low, bounded.effects[0].high) == (-2, 2)
    assert np.isnan(bounded.effects[0].difference)


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_said_with_one_look_beside_many(name: str) -> None:
    log, line = ODD[name]
    text = str(bs.analyze(log))
    assert line in text
    assert "1970" not in text
    assert "inf " not in text


def test_points_that_may_separate_thousands_are_asked_about() -> None:
    with pytest.raises(bs.InputError, match="every number of 'revenue' with a point has three"):
        bs.analyze(small(revenue=["1.234", "-2.500", "999", "12.750"] * 10))
    mixed = bs.analyze(small(revenue=["1.234", "2.5", "999", "12.75"] * 10))
    assert mixed.arms[0].mean == pytest.approx((1.234 + 999) / 2)


def test_a_number_that_overflows_is_excluded_and_said(tmp_path: Path) -> None:
    for entry in ("1e999", "1e300", "-1e120"):
        path = tmp_path / "log.csv"
        rows = lines(lambda i: f"{i},{ARMS[i]},2026-01-{DAYS[i]:02},{SPENT[i]}")
        path.write_text(
            "\n".join(["user_id,variant,ts,revenue", *rows, f"999,green,2026-01-02,{entry}"])
        )
        read = bs.analyze(path)
        assert read.excluded["value not a number"] == 1
        assert {arm.name: arm.mean for arm in read.arms} == pytest.approx(MEANS)


def test_a_rare_arm_is_flagged_and_never_the_control(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEAD, *lines(plain), "999,-1,2026-01-02,1"]))
    read = bs.analyze(path)
    assert read.design.control_arm == "control"
    (check,) = (one for one in read.checks if one.name == "rare arms")
    assert check.flagged
    assert "-1 has 1 unit: is that an arm" in check.message


def test_an_arm_whose_denominators_are_0_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = lines(lambda i: f"{i},{ARMS[i]},{BOUGHT[i]},{2 * (ARMS[i] == 'green')}")
    path.write_text("\n".join(["user_id,variant,clicks,views", *rows]))
    with pytest.raises(bs.InputError, match=r"denominators of arm 'control' are all 0"):
        bs.analyze(path, bs.LogMetric("clicks", per="views"))


def test_no_lift_of_a_rate_is_below_all_of_it(tmp_path: Path) -> None:
    """Few units a day: their difference may be larger than the mean of the control."""
    path = tmp_path / "log.csv"
    rows = ["1,a,2026-01-01,1", "2,b,2026-01-01,0", "3,b,2026-01-02,1", "4,a,2026-01-03,0"]
    path.write_text("\n".join([HEAD, *rows]))
    read = bs.analyze(path)
    (contrast,) = read.contrasts
    assert contrast.difference == -1.0
    assert contrast.lift is None
    assert "−200 %" not in str(read)
