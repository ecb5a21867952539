"""The figures of a page add up: costs, days, percentages and levels, for twelve running tests."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bascule as bs
from bascule.core.calendar import DAY
from bascule.live.api.experiment import Experiment
from bascule.service.auth.keys import Caller
from bascule.service.page.render import test_parts as parts_of

Draw = Callable[[random.Random, int], Any]

COINS: Draw = lambda chance, arm: float(chance.random() < (0.10, 0.13, 0.11)[arm])  # noqa: E731
BELL: Draw = lambda chance, arm: chance.gauss((0.0, 0.2, 0.1)[arm], 1.0)  # noqa: E731
SPENT: Draw = lambda chance, arm: chance.random() ** (3.0, 2.6, 2.8)[arm] * 10.0  # noqa: E731

PLANNED: dict[str, Any] = {"effect": 0.03, "power": 0.9, "baseline": 0.1}
WIDE: dict[str, Any] = {"effect": 0.2, "power": 0.9}
WEEK: dict[str, Any] = {"measure": bs.Measure("2d", "any")}
LATENCY = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=20, error=0.05)
AT_ONCE: dict[str, Any] = {"reports": "always"}


def design(outcome: Any, rule: Any, arms: int = 2, **more: Any) -> bs.Design:
    names = ["control", "green", "blue"][:arms]
    return bs.Design(names, outcome, rule, **({} if "measure" in more else AT_ONCE), **more)


TESTS: dict[str, tuple[bs.Design, Draw]] = {
    "0/1": (design(bs.Bernoulli(), bs.Tilt(3, **PLANNED)), COINS),
    "0/1, window": (design(bs.Bernoulli(), bs.Tilt(5, **PLANNED), **WEEK), COINS),
    "0/1, three arms": (design(bs.Bernoulli(), bs.Tilt(3, **PLANNED), 3), COINS),
    "0/1, even": (design(bs.Bernoulli(), bs.Tilt(1, **PLANNED)), COINS),
    "0/1, futility": (design(bs.Bernoulli(), bs.Tilt(8, **PLANNED, futility=0.2)), COINS),
    "0/1, no horizon": (design(bs.Bernoulli(), bs.Tilt(3)), COINS),
    "normal": (design(bs.Gaussian(1), bs.Tilt(3, **WIDE)), BELL),
    "normal, decrease": (design(bs.Gaussian(1), bs.Tilt(3, **WIDE), goal="decrease"), BELL),
    "within limits": (design(bs.Bounded(0, 10), bs.Tilt(3, effect=0.4, power=0.9)), SPENT),
    "intervals": (design(bs.Gaussian(1), bs.UCB(2), max_units=9000), BELL),
    "0/1, guardrail": (design(bs.Bernoulli(), bs.Tilt(3, **PLANNED), metrics=[LATENCY]), COINS),
    "estimated": (design(bs.Numeric(), bs.Tilt(3, **WIDE)), BELL),
}


def running(made: bs.Design, draw: Draw, days: int = 4, per_day: int = 150) -> Experiment:
    clock, chance = bs.ManualClock(), random.Random(3)
    test = bs.open(":memory:", clock=clock, shuffle=random.Random(3).shuffle).create("shop", made)
    for day in range(days * 4):
        units = [f"{day}-{i}" for i in range(per_day // 4)]
        arms = test.assign_many(units)
        pairs = zip(units, arms, strict=True)
        test.record_many([(unit, draw(chance, made.arms.index(arm))) for unit, arm in pairs])
        if made.guardrails:
            test.record_many([(unit, 120.0, None, None, LATENCY.name) for unit in units])
        clock.advance(DAY / 4)
    assert test.status().is_open
    return test


@pytest.fixture(scope="module", params=list(TESTS))
def page(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    test = running(*TESTS[request.param])
    assert isinstance(test.store, bs.Store)
    parts = parts_of(test.store, "shop", Caller("ann", "viewer")).fragments
    yield {name: html.unescape(part.html).replace("\u00a0", " ") for name, part in parts.items()}
    test.store.close()


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def cells(text: str) -> list[list[str]]:
    """The rows of the first table of a part, as text."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text.split("</table>", maxsplit=1)[0], re.S)
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in rows]


def figure(banner: str, name: str) -> tuple[str, str]:
    found = re.search(
        rf"<dt>{name}</dt><dd>([^<]*)</dd>(?:<dd class=\"more\">([^<]*)</dd>)?", banner
    )
    assert found is not None, name
    return found[1], found[2] or ""


def test_units_add_up(page: dict[str, str]) -> None:
    head, *arms = cells(page["arms"])
    units = [number(row[head.index("units")]) for row in arms]
    assert sum(units) == number(figure(page["banner"], "Units")[0])
    assert all(number(row[2]) <= number(row[1]) for row in arms)
    for row in cells(page["allocation"])[1:]:
        shares = [number(cell.removesuffix(" %")) for cell in row[2:]]
        assert sum(shares) == pytest.approx(100.0, abs=0.051 * len(shares))


def test_costs_add_up(page: dict[str, str]) -> None:
    (name, _, _), (_, mine, even), *whole = cells(page["cost"])
    cost, more = figure(page["banner"], name)
    assert cost == mine
    assert f"({even} if these units were split evenly)" in more
    said = re.search(r'<p class="fine">([^<]*)', page["cost"])
    assert said is not None
    compared = (number(mine), number(even))
    if whole:
        (row,) = whole
        further = next(r[2] for r in cells(page["outlook"]) if _is_present(page, r[0]))
        assert number(row[1]) == pytest.approx(number(mine) + number(further), rel=0.006)
        compared = (number(row[1]), number(row[2]))
        assert f"{row[1]} " in said[1]
        assert f"{row[2]} " in said[1]
    saved = round(100 * (1 - compared[0] / compared[1]))
    words = f"{abs(saved)} % {'less' if saved > 0 else 'more'}" if saved else "about as much"
    assert words in said[1]


def _is_present(page: dict[str, str], value: str) -> bool:
    present = re.search(r"is (\S+)\.</p>", page["knob"])
    assert present is not None
    return value == present[1]


UNITS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "minute": 1 / 1440}


def test_the_time_left_is_one(page: dict[str, str]) -> None:
    headline = re.search(r"<h2>([^<]*)</h2>", page["banner"])
    assert headline is not None
    ranged = re.search(r"(?:(\d+) to|up to) (\d+) (hour|day|week)s? left", headline[1])
    table = cells(page["outlook"]) if "<table" in page["outlook"] else []
    assert bool(table) == (ranged is not None), headline[1]
    if ranged is not None:
        size = UNITS[ranged[3]]
        (time,) = [row[1] for row in table[1:] if _is_present(page, row[0])]
        days, unit = time.split(" ")
        middle = number(days) * UNITS[unit.rstrip("s")]
        assert number(ranged[1] or "0") * size <= middle <= number(ranged[2]) * size
    costs = [number(row[2]) for row in table[1:]]
    no_cheaper = re.search(r"above (\S+) takes longer and is no cheaper", page["outlook"])
    if costs:
        cheapest = table[1 + costs.index(min(costs))][0]
        assert (no_cheaper[1] if no_cheaper else table[-1][0]) == cheapest


def test_the_way_to_a_decision_is_said_once(page: dict[str, str]) -> None:
    shown = re.search(r'<progress max="100" value="(\d+)"', page["banner"])
    words = re.search(r"is ahead, (\d+) % of the way", page["banner"])
    assert shown is not None
    assert (words is None and shown[1] == "0") or (words is not None and words[1] == shown[1])


def test_intervals_have_one_level_or_say_why(page: dict[str, str]) -> None:
    levels = set(re.findall(r"(\d[\d.]*) % interval", page["arms"] + page["effects"]))
    assert len(levels) == 1 or "lower level than that of its difference" in page["arms"]
    each = re.search(r"each bound fails with probability at most (\S+) %", page["arms"])
    assert each is not None
    # The level of both bounds together is rounded down to a tenth.
    assert any(0 <= 100 - 2 * number(each[1]) - number(level) < 0.11 for level in levels)
