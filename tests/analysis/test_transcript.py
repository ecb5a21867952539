"""Files as European tools and spreadsheets write them: one question, then the right numbers.

Each file is raw text with the means that it was made with. Then the same files with the faults that
real ones have: the means stay right, or something is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.analysis.log.reading import Question

pytestmark = pytest.mark.slow


class Raw(NamedTuple):
    """A file: its bytes, what is asked, the options that answer, and the means of its arms."""

    data: bytes
    question: str | None
    answer: dict[str, Any]
    means: dict[str, float]


def text(*lines: str, encoding: str = "utf-8") -> bytes:
    return ("\n".join(lines) + "\n").encode(encoding)


def german(value: float, digits: int = 2) -> str:
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def means(arms: Any, values: Any) -> dict[str, float]:
    arms, values = np.asarray(arms), np.asarray(values, float)
    return {str(arm): float(values[arms == arm].mean()) for arm in np.unique(arms)}


def trial() -> Raw:
    """A trial in an older encoding, with decimal commas and gaps."""
    rng = np.random.default_rng(1)
    arm = np.array(["Placebo", "Verum"] * 60)
    value = rng.normal(45, 8, 120).round(1)
    lines = [
        f"P-{i:03};{a};{('Köln', 'Ulm')[i % 3 % 2]};{german(rng.normal(50, 8), 1)};{german(v, 1)}"
        for i, (a, v) in enumerate(zip(arm, value, strict=True))
    ]
    head = "Patient;Behandlung;Zentrum;Ausgangswert;Endwert"
    answer = {"arm": "Behandlung", "value": "Endwert"}
    asked = "arm could be Behandlung or Zentrum; metric could be Ausgangswert or Endwert"
    return Raw(text(head, *lines, encoding="cp1252"), asked, answer, means(arm, value))


def orders() -> Raw:
    """Orders with currencies, days first, a mark at the beginning, and a row of totals."""
    rng = np.random.default_rng(2)
    customer = np.r_[np.arange(200), rng.integers(0, 200, 100)]
    amount = rng.lognormal(6.5, 0.8, 300).round(2)
    lines = [
        f"B{i:04};{c};{'AB'[c % 2]};{1 + i // 11:02}.02.2026 10:00;{german(a)} €"
        for i, (c, a) in enumerate(zip(customer, amount, strict=True))
    ]
    head = "\ufeffBestellnummer;Kunde_ID;Gruppe;Date;Umsatz"
    each = np.bincount(customer, amount)
    wanted = means(["AB"[c % 2] for c in range(200)], each)
    total = f"Summe;;;;{german(amount.sum())} €"
    return Raw(text(head, *lines, total), None, {}, wanted)


def pricing() -> Raw:
    """Dollars with thousands, months first, blanks."""
    rng = np.random.default_rng(3)
    arm, value = np.array(["control", "new"] * 150), rng.lognormal(7, 1, 300).round(2)
    lines = [
        f'{i},{a},{1 + i % 3}/{1 + i % 28}/2026,"${v:,.2f}"'
        for i, (a, v) in enumerate(zip(arm, value, strict=True))
    ]
    return Raw(text("user_id,variant,date,revenue", *lines), None, {}, means(arm, value))


def campaigns() -> Raw:
    """Sums by day of two campaigns, with a day that has nothing but its date."""
    rng = np.random.default_rng(4)
    lines, sums = [], {"Control Campaign": [0, 0], "Test Campaign": [0, 0]}
    for day in range(1, 15):
        for arm in sums:
            shown = int(rng.integers(600, 1400))
            clicks = int(rng.binomial(shown, 0.05))
            lines.append(f"{arm};{day}.08.2019;{rng.integers(1800, 3000)};{shown};{clicks}")
            sums[arm] = [sums[arm][0] + shown, sums[arm][1] + clicks]
    lines += ["Control Campaign;15.08.2019;1835;;", "Test Campaign;15.08.2019;1835;;"]
    answer = {"arm": "Campaign Name", "value": "# of Clicks", "count": "# of Impressions"}
    return Raw(
        text("Campaign Name;Date;Spend [USD];# of Impressions;# of Clicks", *lines),
        "# of Impressions seems to count the units of a row",
        answer | {"outcome": bs.Bernoulli()},
        {arm: clicks / shown for arm, (shown, clicks) in sums.items()},
    )


def summary() -> Raw:
    """A small table with a total, and spaces in thousands."""
    data = text(
        "group;visitors;Bestellungen", "A;12 345;512", "B;12 401;590", "Gesamt;24 746;1 102"
    )
    answer = {"count": "visitors", "value": "Bestellungen", "outcome": bs.Bernoulli()}
    return Raw(data, "visitors seems to count", answer, {"A": 512 / 12345, "B": 590 / 12401})


def stores() -> Raw:
    """Weekly sales of stores, whose promotions have numbers."""
    rng = np.random.default_rng(5)
    promotion, sales = rng.integers(1, 4, 90), rng.normal(50, 9, (90, 4)).round(2)
    lines = [
        f"{i // 9},{i},{('Small', 'Large')[i % 2]},{promotion[i]},{week + 1},{sales[i, week]}"
        for i in range(90)
        for week in range(4)
    ]
    return Raw(
        text("MarketID,LocationID,MarketSize,Promotion,week,Sales", *lines),
        "unit could be LocationID, all of whose rows have the same arm",
        {"unit": "LocationID", "arm": "Promotion"},
        means(promotion, sales.sum(axis=1)),
    )


def schools() -> Raw:
    """Pupils in schools that were assigned as a whole."""
    rng = np.random.default_rng(7)
    school = np.repeat(np.arange(30), 12)
    value = (50 + rng.normal(0, 4, 30)[school] + rng.normal(0, 6, 360)).round(1)
    lines = [f"{i},{s},{s % 2},{v}" for i, (s, v) in enumerate(zip(school, value, strict=True))]
    return Raw(
        text("pupil_id,school_id,treatment,posttest", *lines),
        "all units of one school_id have the same arm (if units were assigned singly, name",
        {"unit": "pupil_id"},
        means(school % 2, value),
    )


def survey() -> Raw:
    """Words for yes and no behind tabs, below a line for a spreadsheet."""
    rng = np.random.default_rng(8)
    done = rng.random(200) < 0.6
    form = np.array(["short form", "long form"] * 100)
    lines = [
        f"{i}\t{f}\t{('No', 'Yes')[int(d)]}\t{german(rng.gamma(4, 20), 1)}"
        for i, (f, d) in enumerate(zip(form, done, strict=True))
    ]
    head = "Participant\tCondition\tCompleted?\tTime (sec)"
    asked = "metric could be Completed? or Time (sec)"
    return Raw(text("sep=\t", head, *lines), asked, {"value": "Completed?"}, means(form, done))


def funnel() -> Raw:
    """Events with names and no number at all."""
    rng = np.random.default_rng(10)
    lines, paid = [], []
    for user in range(300):
        arm = ("old", "new")[user % 2]
        steps = 1 + int(rng.binomial(2, 0.5))
        paid.append(float(steps == 3))
        for step, kind in enumerate(("view", "cart", "pay")[:steps]):
            lines.append(f"u{user}\t{arm}\t2026-05-{1 + user % 20:02} 10:0{step}:00\t{kind}")
    return Raw(
        text("user\texperiment_group\ttimestamp\tevent_name", *lines),
        "metric could be the events with event_name=view, event_name=cart or event_name=pay",
        {"value": "event_name=pay"},
        means(["old", "new"] * 150, paid),
    )


def exposures() -> Raw:
    """A wide table of a warehouse: an arm with a prefix, and a date that may not be the arrival."""
    rng = np.random.default_rng(11)
    arm, value = rng.choice(["A", "B"], 400), rng.gamma(2, 20, 400).round(2)
    lines = [
        f"{i},{a},2026-01-{1 + i % 28:02},{rng.integers(18, 80)},{rng.poisson(3)},{v}"
        for i, (a, v) in enumerate(zip(arm, value, strict=True))
    ]
    return Raw(
        text("member_id,ab_variant,signup_date,age,sessions,order_total", *lines),
        "metric could be age, sessions or order_total",
        {"value": "order_total"},
        means(arm, value),
    )


FILES: dict[str, Callable[[], Raw]] = {
    make.__name__: make
    for make in (
        *(trial, orders, pricing, campaigns, summary, stores, schools, survey),
        *(funnel, exposures),
    )
}


def answered(path: Path, raw: Raw) -> bs.analysis.Analysis:
    return bs.analyze(**call_of(path, looks="now", **raw.answer))


@pytest.mark.parametrize("name", FILES)
def test_a_raw_file_is_read_after_one_question(name: str, tmp_path: Path) -> None:
    raw, path = FILES[name](), tmp_path / f"{name}.csv"
    path.write_bytes(raw.data)
    if raw.question is not None:
        with pytest.raises(Question) as asked:
            bs.analyze(path)
        assert raw.question in str(asked.value)
        call = str(asked.value).split("for example: ")[1]
        eval(call, {"bs": bs})
    found = answered(path, raw)
    assert {arm.name: arm.mean for arm in found.arms} == pytest.approx(raw.means, rel=1e-6)
    assert "1970" not in str(found) + found.html()
    if name == "schools":
        assert "all units of one school_id have the same arm" in str(found.flagged)
        assert "assigned=bs.Assigned(cluster='school_id')" in call
    if name == "exposures":
        assert "signup_date has times and is not used" in str(found)
    if name == "funnel":
        with pytest.raises(bs.InputError, match="no row has 'paid' in 'event_name': it has cart"):
            bs.analyze(path, "event_name=paid")


def test_the_tests_of_a_file_are_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    lines = [
        f"{t},2014-11-{1 + t:02},Excerpt,"
        f'"Headline ""{h}"", really {t}",{t}a{h},{shown},{rng.binomial(shown, 0.02)},201446'
        for t in range(12)
        for h, shown in enumerate(rng.integers(2000, 4000, 3))
    ]
    lines = [f"{i},{line}" for i, line in enumerate(lines)]
    path = tmp_path / "tests.csv"
    columns = "created_at,excerpt,headline,eyecatcher_id,impressions,clicks,test_week"
    path.write_bytes(text(f",clickability_test_id,{columns}", *lines))
    with pytest.raises(
        Question, match="clickability_test_id seems to name one of several"
    ) as asked:
        bs.analyze(path)
    # The identity of an arm's picture divides the rows as its headline does, so that one of them
    # is named; the week of the test is no flag.
    assert "arm could be headline; impressions" in str(asked.value)
    found = eval(str(asked.value).split("for example: ")[1], {"bs": bs})
    assert [row.arms for row in found.rows] == [3] * 12


def test_columns_that_name_tests_or_metrics_are_asked_about() -> None:
    log = {
        "experiment": [f"exp {i // 2}" for i in range(8)],
        "variant": ["control", "new"] * 4,
        "users": [1000 + 7 * i for i in range(8)],
        "conversions": [100 + i for i in range(8)],
    }
    with pytest.raises(Question, match="experiment seems to name one of several tests; users"):
        bs.analyze(log)
    long = {
        "user_id": [i // 2 for i in range(80)],
        "variant": ["control"] * 40 + ["new"] * 40,
        "metric": ["clicks", "revenue"] * 40,
        "value": [i % 7 for i in range(80)],
    }
    with pytest.raises(Question, match="metric seems to name the metric of each row") as asked:
        bs.analyze(long)
    found = eval(str(asked.value).split("for example: ")[1], {"bs": bs, "log": long})
    assert [(row.test, row.units) for row in found.rows] == [("clicks", 40), ("revenue", 40)]
    flag = {"user_id": range(90), "test": [i % 2 for i in range(90)], "bought": [0, 1, 1] * 30}
    assert bs.analyze(flag).reading.arm == "test"


def test_a_flag_beside_a_time_of_follow_up_is_refused_unless_it_is_named() -> None:
    rng = np.random.default_rng(12)
    trial: dict[str, Any] = {
        "id": np.repeat(np.arange(100), 2),
        "rx": np.repeat(["Obs", "Lev"] * 50, 2),
        "status": rng.binomial(1, 0.5, 200),
        "time": rng.integers(20, 3000, 200),
        "etype": np.tile([2, 1], 100),
    }
    with pytest.raises(bs.InputError, match="time seems to be the time until status") as refused:
        bs.analyze(trial)
    assert "log-rank test" in str(refused.value)
    assert "name the metric 'status' (--metric status)" in str(refused.value)
    found = bs.analyze(trial, "status")
    assert any("time has numbers from" in note for note in found.notes)
    assert any("the metric 'status per row'" in note for note in found.notes)


def test_a_time_of_the_day_is_no_date() -> None:
    log = {
        "id": range(80),
        "variant": ["a", "b"] * 40,
        "time": [f"{i % 60:02}:{i % 50:02}.{i % 9}" for i in range(80)],
        "converted": [0, 0, 1, 1] * 20,
    }
    found = bs.analyze(log)
    assert found.reading.time is None
    assert any("not read as dates, and is not used" in note for note in found.notes)


def test_groups_of_units_with_one_arm_are_noted() -> None:
    log = {
        "person": range(120),
        "village": [f"v{i // 10}" for i in range(120)],
        "arm": ["ab"[i // 10 % 2] for i in range(120)],
        "value": [i % 7 for i in range(120)],
    }
    (check,) = bs.analyze(log, unit="person").flagged
    assert "all units of one village have the same arm" in check.message
    found = bs.analyze(log, unit="person", assigned=bs.Assigned(cluster="village"))
    assert not found.flagged
    assert "12 groups of units (village) were seen, each in one arm" in str(found)
    # Means are those of persons, and the units are villages.
    assert found.cost is None
    # Without a column of persons, the village may be the unit, also where it is a number.
    del log["person"]
    log["village"] = [i // 10 for i in range(120)]
    with pytest.raises(Question, match="unit could be village, all of whose rows") as asked:
        bs.analyze(log)
    assert asked.value.options["row_is_unit"] is True
    assert asked.value.options["cluster"] == "village"
    assert bs.analyze(bs.Log(log, row_is_unit=True)).units == 120
    log["arm"] = ["ab"[i % 2] for i in range(120)]
    assert bs.analyze(log).units == 120


FAULTS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "carriage returns": lambda lines: [line + b"\r" for line in lines],
    "blank lines": lambda lines: [part for line in lines for part in (line, b"")],
    "the header again": lambda lines: [*lines, lines[0]],
    "copies": lambda lines: [*lines, *lines[3:6]],
    "a short line": lambda lines: [*lines, lines[5][:4]],
    "a remark below": lambda lines: [*lines, b"", b"Source: our own data"],
    "a word among values": lambda lines: [*lines[:-1], _last(lines[-2], b"lost")],
    "an empty cell": lambda lines: [*lines[:-2], _last(lines[-2], b""), lines[-1]],
    "a huge value": lambda lines: [*lines[:-1], _last(lines[-2], b"99999999")],
}
SAID = r"(?m)^(! |excluded: |  copies of rows: [0-9])"
"""Lines that say something of a file."""


def _last(line: bytes, cell: bytes) -> bytes:
    """A line with another last cell."""
    sign = next(one for one in (b";", b"\t", b",") if one in line)
    line = line.replace(b'"', b"")
    return line.rsplit(sign, 1)[0] + sign + cell


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["trial", "campaigns"])
def test_a_fault_changes_nothing_or_is_said(name: str, fault: str, tmp_path: Path) -> None:
    raw, path = FILES[name](), tmp_path / "log.csv"
    path.write_bytes(b"\n".join(FAULTS[fault](raw.data.splitlines())))
    try:
        found = answered(path, raw)
    except bs.InputError:
        return
    same = {arm.name: arm.mean for arm in found.arms} == pytest.approx(raw.means, rel=1e-9)
    assert same or re.search(SAID, str(found))
    assert len(found.arms) == len(raw.means)
