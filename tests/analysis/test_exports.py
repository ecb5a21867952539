"""Exports as well-known tools write them: read right, asked about once, or refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.log.reading import Question

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.slow

N = 600
RNG = np.random.default_rng(8)
ARM = RNG.integers(2, size=N)
BOUGHT = RNG.random(N) < 0.2 + 0.3 * ARM
TIME = pd.Timestamp("2026-01-05") + pd.to_timedelta(RNG.integers(0, 4 * 86_400, N), "s")
USERS = [f"user-{i}" for i in range(N)]
LOG = pd.DataFrame(
    {"user_id": USERS, "arm": np.take(["a", "b"], ARM), "y": BOUGHT.astype(int), "ts": TIME}
)
SHARES = {"a": BOUGHT[ARM == 0].mean(), "b": BOUGHT[ARM == 1].mean()}


def means_of(found: bs.analysis.Analysis) -> dict[str, float | None]:
    return {arm.name: arm.mean for arm in found.arms}


def answered(log: Any, *metric: str) -> bs.analysis.Analysis:
    """The answer to the call that the only question has."""
    with pytest.raises(Question) as asked:
        bs.analyze(log, *metric)
    found: bs.analysis.Analysis = eval(
        str(asked.value).split("for example: ")[1], {"bs": bs, "log": log}
    )
    return found


def test_two_tables_that_match_in_part_say_so_first_and_not_at_all_is_an_error() -> None:
    exposures = pd.DataFrame(
        {"id": [f"m{i}" for i in range(N)], "user_id": USERS, "variant": LOG.arm, "sent_at": TIME}
    )
    buyers = np.flatnonzero(BOUGHT)
    orders = pd.DataFrame(
        {
            "id": [f"o{i}" for i in range(len(buyers))],
            "user_id": np.take(USERS, buyers),
            "amount": np.ones(len(buyers)),
        }
    )
    found = bs.analyze(orders, "amount", assignments=exposures)
    assert found.reading.unit == "user_id"
    assert means_of(found) == pytest.approx(SHARES)
    others = orders.assign(user_id="other " + orders.user_id)
    mostly = pd.concat([orders, others, others.assign(id="x" + others.id)])
    assert bs.analyze(mostly, "amount", assignments=exposures).headline.startswith(
        "Only 33 % of the events belong to units of the assignments"
    )
    with pytest.raises(bs.InputError, match="events belongs to a unit"):
        bs.analyze(others, "amount", assignments=exposures)


@pytest.mark.parametrize(
    "names", [("anonymous_id",) * 2, ("user_id", "visitor_id"), ("buyer", "user_id")]
)
def test_the_unit_is_the_column_whose_entries_match(names: tuple[str, str]) -> None:
    """Both tables also have an `id` of their own, of messages and of orders."""
    mine, theirs = names
    exposures = pd.DataFrame(
        {"id": np.arange(N) + 9000, theirs: USERS, "variant": LOG.arm, "sent_at": TIME}
    )
    buyers = np.flatnonzero(BOUGHT)
    orders = pd.DataFrame(
        {"id": np.arange(len(buyers)), mine: np.take(USERS, buyers), "amount": 1.0}
    )
    found = bs.analyze(orders, "amount", assignments=exposures)
    assert (found.reading.unit, found.reading.assignments_unit) == names
    assert means_of(found) == pytest.approx(SHARES)


def test_times_until_an_event_are_refused_with_what_to_do() -> None:
    survival = LOG.rename(columns={"y": "status", "ts": "entered"}).assign(futime=RNG.random(N))
    with pytest.raises(bs.InputError, match=r"log-rank test or a Cox model"):
        bs.analyze(survival)
    rows = pd.concat([LOG.assign(start=0, stop=5), LOG.assign(start=5, stop=9)])
    with pytest.raises(bs.InputError, match="start and the stop of a time at risk"):
        bs.analyze(rows.drop(columns="ts"), "y")


@pytest.mark.parametrize("metric", [(), ("event_name=purchase",)])
def test_exposures_and_events_in_one_table(metric: tuple[str, ...]) -> None:
    seen = pd.DataFrame(
        {"user_id": USERS, "event_name": "exposure", "variant": LOG.arm, "event_timestamp": TIME}
    )
    later = (TIME + pd.Timedelta("1h"))[BOUGHT]
    buys = pd.DataFrame(
        {
            "user_id": np.take(USERS, np.flatnonzero(BOUGHT)),
            "event_name": "purchase",
            "event_timestamp": later,
            "value": 1.0,
        }
    )
    assert means_of(answered(pd.concat([seen, buys], ignore_index=True), *metric)) == pytest.approx(
        SHARES
    )


@pytest.mark.parametrize("written", [dict, json.dumps], ids=["struct", "JSON"])
def test_fields_of_nested_columns_are_named_with_the_query_that_reads_one(written: Any) -> None:
    fields = [written({"plan": "x", "bought": int(one)}) for one in BOUGHT]
    assert means_of(answered(LOG.drop(columns="y").assign(props=fields))) == pytest.approx(SHARES)


def test_what_is_no_metric_and_no_arm() -> None:
    with pytest.raises(Question, match="no column looks like the metric"):
        bs.analyze(LOG.drop(columns="y").assign(constant=1))
    with pytest.raises(Question, match="no column looks like the metric"):
        bs.analyze(LOG.assign(y=1).rename(columns={"y": "converted"}))
    with pytest.raises(Question, match="no column looks like the arm"):
        bs.analyze(LOG.drop(columns="arm").assign(test_week=np.arange(N) % 2))
    weeks = LOG.rename(columns={"arm": "kind_of_page"}).assign(test_week=np.arange(N) % 4)
    assert answered(weeks).reading.arm == "kind_of_page"
    share = RNG.choice([0.2, 0.8], N)
    arm = np.where(RNG.random(N) < share, "b", "a")
    bandit = LOG.assign(arm=arm, propensity=np.where(arm == "b", share, 1.0 - share))
    assert answered(bandit).reading.probability == ("propensity",)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_integers_are_times_since_1970_in_any_unit(unit: str) -> None:
    numbers = LOG.ts.to_numpy().astype(f"datetime64[{unit}]").astype("int64")
    found = bs.analyze(LOG.assign(ts=numbers))
    assert (found.first_day, found.last_day) == ("2026-01-05", "2026-01-08")
    assert means_of(found) == pytest.approx(SHARES)


def test_zones_are_read_alike_and_never_mixed() -> None:
    text = LOG.ts.dt.strftime("%Y-%m-%d %H:%M:%S")
    wanted = bs.analyze(LOG.assign(ts=LOG.ts + pd.Timedelta("8h")))
    for zone in ("-0800", " -0800", "-08:00", " PST"):
        found = bs.analyze(LOG.assign(ts=text + zone))
        assert found.effects == wanted.effects, zone
    summer = LOG.assign(ts=(LOG.ts + pd.Timedelta("1h")).dt.strftime("%Y-%m-%d %H:%M:%S") + " PDT")
    assert bs.analyze(summer).effects == wanted.effects
    form = bs.Log(LOG.assign(ts=text + "-0800"), time_format="%Y-%m-%d %H:%M:%S%z")
    assert bs.analyze(form).effects == wanted.effects
    mixed = text.where(np.arange(N) % 2 == 0, text + "+0200")
    with pytest.raises(bs.InputError, match="300 times in 'ts' have a zone, 300 none"):
        bs.analyze(LOG.assign(ts=mixed))


@pytest.mark.parametrize(
    ("yes", "no"),
    [("ja", "nein"), ("Oui", "Non"), ("sí", "no"), ("ja", "nee"), ("sì", "no"), ("Sim", "Não")],
)
def test_yes_and_no_in_other_languages(yes: str, no: str) -> None:
    assert means_of(bs.analyze(LOG.assign(y=np.where(BOUGHT, yes, no)))) == pytest.approx(SHARES)


EXPOSED = [str(arm) for arm in LOG.arm]
BUYERS = np.flatnonzero(BOUGHT)


def of_events(unit: str, arm: str, value: str, noise: tuple[str, ...] = ()) -> Any:
    """Rows of exposures, which have the arm, and of purchases, which have the value."""
    seen = {unit: USERS, "event": "seen", arm: EXPOSED, "timestamp": TIME}
    buys = {unit: np.take(USERS, BUYERS), "event": "buy", value: 1.0}
    buys |= {"timestamp": (TIME + pd.Timedelta("1h"))[BOUGHT]}
    log = pd.concat([pd.DataFrame(seen), pd.DataFrame(buys)], ignore_index=True)
    return log.assign(**{name: [f"{name}{i}" for i in range(len(log))] for name in noise})


@pytest.mark.parametrize(
    ("unit", "arm", "value", "noise"),
    [
        ("distinct_id", "Variant name", "amount", ("$insert_id",)),
        ("distinct_id", "properties.$feature_flag_response", "amount", ("uuid",)),
        ("reader_id", "variation", "metricValue", ("message_id", "row_id")),
    ],
)
def test_the_unit_of_a_stream_stands_on_exposures_and_on_events(
    unit: str, arm: str, value: str, noise: tuple[str, ...]
) -> None:
    """Identities of messages, which every row has of its own, are no units."""
    found = answered(of_events(unit, arm, value, noise))
    assert found.reading.unit == unit
    assert means_of(found) == pytest.approx(SHARES)
    assert "missing outcomes" not in [check.name for check in found.checks]


@pytest.mark.parametrize("kind", ["struct", "JSON", "keys and values"])
def test_fields_of_a_stream_are_read_by_the_query_of_the_only_question(kind: str) -> None:
    flat = of_events("distinct_id", "Variant name", "amount")
    names = ["distinct_id", "Variant name", "amount"]
    fields: list[Any] = [
        {name: entry for name, entry in zip(names, row, strict=True) if entry == entry}
        for row in flat[names].to_numpy().tolist()
    ]
    if kind == "JSON":
        fields = [json.dumps(row) for row in fields]
    if kind == "keys and values":
        fields = [
            [{"key": name, "value": {"string_value": str(entry)}} for name, entry in row.items()]
            for row in fields
        ]
    found = answered(pd.DataFrame({"event": flat.event, "at": flat.timestamp, "props": fields}))
    assert (found.reading.unit, found.reading.arm) == ("distinct_id", "Variant name")
    assert means_of(found) == pytest.approx(SHARES)


def test_an_identity_and_a_name_of_the_arm_are_one_column() -> None:
    named = LOG.rename(columns={"arm": "group_name"})
    assert bs.analyze(named.assign(group_id=ARM)).reading.arm == "group_name"


def test_sums_of_squares_are_no_metric() -> None:
    spent = LOG.assign(date=LOG.ts.dt.date, users=1, total=7.5 * LOG.y, squares=56.25 * LOG.y)
    sums = spent.groupby(["date", "arm"])[["users", "total", "squares"]].sum().reset_index()
    found = answered(sums.rename(columns={"squares": "total_sum_squares"}))
    assert found.reading.squares == "total_sum_squares"
    assert means_of(found) == pytest.approx({arm: 7.5 * share for arm, share in SHARES.items()})


def test_exposures_alone_ask_for_the_table_of_outcomes() -> None:
    exposures = LOG.drop(columns="y").rename(columns={"ts": "received_at"})
    with pytest.raises(Question, match="if outcomes are in another table") as asked:
        bs.analyze(exposures)
    assert "with names in place of the capitals: bs.analyze('OUTCOMES'" in str(asked.value)
    orders = pd.DataFrame(
        {"user_id": np.take(USERS, BUYERS), "amount": 1.0, "sent_at": TIME[BOUGHT]}
    )
    found = bs.analyze(orders, assignments=exposures)
    assert (found.reading.time, found.reading.assignments_time) == ("sent_at", "received_at")


def test_a_struct_is_no_arm_and_its_fields_are_asked_about() -> None:
    rows = [
        {"user": {"id": user}, "experiment": {"name": "x", "variant": arm}, "at": at, "y": y}
        for user, arm, at, y in zip(USERS, LOG.arm, TIME, LOG.y, strict=True)
    ]
    found = answered(pd.DataFrame(rows))
    assert (found.reading.unit, found.reading.arm) == ("id", "variant")
    assert means_of(found) == pytest.approx(SHARES)


def test_events_of_a_day_are_no_earlier_than_an_assignment_of_that_day() -> None:
    """Daily metrics of a warehouse beside the moments of first exposures."""
    exposures = LOG[["user_id", "arm", "ts"]].rename(columns={"ts": "first_exposure_utc"})
    daily = LOG[BOUGHT].assign(ds=LOG.ts.dt.date, metric_value=1)[["user_id", "ds", "metric_value"]]
    found = bs.analyze(daily, assignments=exposures)
    assert means_of(found) == pytest.approx(SHARES)
    assert any("only the day is known" in note for note in found.notes)
    assert not found.excluded


def test_columns_that_say_nothing_new_are_no_metric() -> None:
    odd = LOG.drop(columns=["user_id", "y"]).assign(
        served=np.take(["false", "true"], ARM), price=9.99, test_week=ARM + 1, account=range(N)
    )
    assert bs.analyze(odd.assign(achat=np.where(BOUGHT, "oui", "non"))).reading.value == "achat"


def test_names_in_other_languages() -> None:
    rows = {"Kundennummer": range(N), "Variante": LOG.arm, "Datum": LOG.ts, "gekauft": LOG.y}
    found = bs.analyze(pd.DataFrame(rows))
    assert found.reading.named == ("Kundennummer", "Variante", "Datum", "gekauft")
    french = pd.DataFrame({"arm": np.take(["témoin", "essai"], ARM), "y": LOG.y})
    assert bs.analyze(french).design.control_arm == "témoin"


def test_conversions_that_count_a_visitor_once_are_the_example() -> None:
    sums = {"Variation": ["A", "B"], "Visitors": [4000, 4100]}
    sums |= {"Unique Conversions": [400, 500], "Total Conversions": [450, 590]}
    assert answered(pd.DataFrame(sums)).reading.value == "Unique Conversions"


def test_probabilities_of_each_arm_are_asked_about_and_one_of_three_arms_is_no_answer() -> None:
    share = RNG.choice([0.2, 0.8], N)
    log = LOG.assign(arm=np.where(RNG.random(N) < share, "b", "a"), p_a=1.0 - share, p_b=share)
    assert answered(log).reading.probability == ("p_a", "p_b")
    three = LOG.assign(arm=np.take(["a", "b", "c"], RNG.integers(3, size=N)), propensity=share)
    found = bs.analyze(three)
    assert any(note.startswith("propensity seems to be") for note in found.notes)


def test_the_export_of_a_ratio_is_read_as_one_from_its_outcomes_alone() -> None:
    """Its rows have numerators in `value` and denominators in `per`, and each has its arm."""
    arms = [("a", 2.0, 1.0), ("a", 4.0, 5.0), ("b", 3.0, 2.0), ("b", 6.0, 4.0)] * 20
    rows = [(f"u{i}", *arm, f"e{i}") for i, arm in enumerate(arms)]
    outcomes = pd.DataFrame(rows, columns=["unit", "arm", "value", "per", "id"])
    outcomes["at"] = outcomes["received"] = "2026-01-01T00:00:00+00:00"
    found = bs.analyze(outcomes)
    assert [arm.mean for arm in found.arms] == [1.0, 1.5]
    assignments = outcomes[["unit", "arm"]].assign(time=outcomes["at"])
    with pytest.raises(bs.InputError, match="assignments do not go with the export of a ratio"):
        bs.analyze(outcomes, assignments=assignments)
