"""Files as they are published, of different kinds: read right, with at most one question each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.log.reading import Question

pytestmark = pytest.mark.slow


def trial() -> Any:
    """A randomised trial: baseline columns, a score with gaps, and the distance to the clinic."""
    import pandas as pd

    rng = np.random.default_rng(1)
    n = 300
    treated = rng.permuted(np.arange(n) % 2)
    score = 20 + 3 * treated + rng.normal(0, 5, n)
    score[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "patient_id": [f"P{i:03}" for i in range(n)],
            "treatment": np.where(treated, "drug", "placebo"),
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "distance_km": rng.gamma(2, 5, n).round(1),
            "score_week_8": score.round(1),
        }
    )


def funnel() -> Any:
    """A game with a gate: one row a player, two flags and a count."""
    import pandas as pd

    rng = np.random.default_rng(2)
    n = 4000
    gate = rng.choice(["gate_30", "gate_40"], n)
    return pd.DataFrame(
        {
            "userid": rng.permutation(10 * n)[:n],
            "version": gate,
            "sum_gamerounds": rng.geometric(0.02, n),
            "retention_1": rng.random(n) < 0.45,
            "retention_7": rng.random(n) < np.where(gate == "gate_30", 0.22, 0.15),
        }
    )


def revenue() -> Any:
    """An e-mail campaign without identities: visit, conversion, spend by segment."""
    import pandas as pd

    rng = np.random.default_rng(3)
    n = 6000
    arm = rng.integers(3, size=n)
    visit = rng.random(n) < np.take([0.10, 0.19, 0.15], arm)
    bought = visit & (rng.random(n) < 0.1)
    return pd.DataFrame(
        {
            "recency": rng.integers(1, 13, n),
            "history_segment": rng.choice(["1) $0", "2) $100", "3) $200"], n),
            "zip_code": rng.choice(["Urban", "Rural"], n),
            "segment": np.take(["No E-Mail", "Mens E-Mail", "Womens E-Mail"], arm),
            "visit": visit.astype(int),
            "conversion": bought.astype(int),
            "spend": np.where(bought, rng.lognormal(4, 0.6, n), 0).round(2),
        }
    )


def clustered() -> Any:
    """Villages that were assigned as a whole."""
    import pandas as pd

    rng = np.random.default_rng(4)
    village = np.repeat(np.arange(60), 25)
    arm = rng.permuted(np.arange(60) % 2)[village]
    level = rng.normal(0, 1, 60)[village]
    return pd.DataFrame(
        {
            "village": village,
            "arm": np.take(["control", "bednets"], arm),
            "y": (level - 0.2 * arm + rng.normal(0, 1, len(village))).round(3),
        }
    )


def start_stop() -> Any:
    """Recurrent events: a row for each time at risk, which ends with an event or the study."""
    import pandas as pd

    rng = np.random.default_rng(5)
    rows = []
    for patient in range(260):
        arm, end, start = patient % 2, rng.uniform(200, 500), 0.0
        while start < end:
            gap = rng.exponential(1 / (0.004 if arm else 0.006))
            stop = min(start + gap, end)
            rows.append((patient, "rIFN" if arm else "placebo", start, stop, int(stop < end)))
            start = stop
    return pd.DataFrame(rows, columns=["id", "treat", "tstart", "tstop", "infect"]).round(2)


def by_day() -> Any:
    """Impressions and clicks of each day and arm."""
    import pandas as pd

    rng = np.random.default_rng(6)
    days = pd.date_range("2026-02-01", periods=14).repeat(2)
    shown = rng.integers(900, 1100, 28)
    rate = np.tile([0.05, 0.07], 14)
    return pd.DataFrame(
        {
            "date": days.strftime("%Y-%m-%d"),
            "variant": ["A", "B"] * 14,
            "impressions": shown,
            "clicks": rng.binomial(shown, rate),
        }
    )


def several_tests() -> Any:
    """Headlines of many tests in one file, a row each."""
    import pandas as pd

    rng = np.random.default_rng(7)
    test = np.repeat(np.arange(40), 2)
    shown = rng.integers(2000, 4000, 80)
    return pd.DataFrame(
        {
            "test": [f"test {i:02}" for i in test],
            "variant": ["a", "b"] * 40,
            "impressions": shown,
            "clicks": rng.binomial(shown, np.where(test % 4 == 0, [0.03, 0.06] * 40, 0.03)),
        }
    )


def means_of(found: bs.analysis.Analysis) -> dict[str, float]:
    return {arm.name: arm.mean or 0.0 for arm in found.arms}


FILES: dict[str, tuple[Callable[[], Any], str | None, dict[str, Any]]] = {
    "trial": (
        trial,
        "metric could be age, distance_km or score_week_8; 11 rows have no score_week_8",
        {"metric": bs.LogMetric("score_week_8", missing="exclude")},
    ),
    "funnel": (
        funnel,
        "metric could be sum_gamerounds, retention_1 or retention_7",
        {"metric": "retention_7"},
    ),
    "revenue": (revenue, "metric could be visit, conversion or spend", {"metric": "spend"}),
    "clustered": (clustered, None, {"assigned": bs.Assigned(cluster="village")}),
}


MEASURED = {
    "trial": ("treatment", "score_week_8"),
    "funnel": ("version", "retention_7"),
    "revenue": ("segment", "spend"),
    "clustered": ("arm", "y"),
}
"""The arm and the value of a file."""


@pytest.mark.parametrize("metric", [None, "infect"])
def test_times_at_risk_are_refused(metric: str | None, tmp_path: Path) -> None:
    path = tmp_path / "recurrent.csv"
    start_stop().to_csv(path, index=False)
    with pytest.raises(bs.InputError, match="tstart and tstop seem to be the start and") as refused:
        bs.analyze(path, metric)
    assert "log-rank test or a Cox model" in str(refused.value)
    found = bs.analyze(path, bs.LogMetric("infect", aggregate="sum"))
    assert sum(arm.units for arm in found.arms) == 260


@pytest.mark.parametrize("name", FILES)
def test_a_file_needs_at_most_one_question(name: str, tmp_path: Path) -> None:
    make, question, answer = FILES[name]
    frame, path = make(), tmp_path / f"{name}.csv"
    frame.to_csv(path, index=False)
    if question is not None:
        with pytest.raises(Question) as asked:
            bs.analyze(path)
        assert question in str(asked.value)
        assert asked.value.recognised
        # The call of the message is complete: it runs as it stands.
        call = str(asked.value).split("for example: ")[1]
        eval(call, {"bs": bs})
    found = bs.analyze(path, **answer)
    arm, value = MEASURED[name]
    wanted = frame.groupby(arm)[value].mean()
    assert means_of(found) == pytest.approx(wanted.to_dict(), rel=1e-6)
    if name == "revenue":
        assert found.design.control_arm == "No E-Mail"
    if name == "trial":
        # Whether a score that was not taken counts as 0 is asked, and may be said.
        with pytest.raises(Question, match="11 rows have no score_week_8, and no row has"):
            bs.analyze(path, "score_week_8")
        stated = bs.analyze(path, bs.LogMetric("score_week_8", missing=0))
        wanted = frame.fillna({"score_week_8": 0}).groupby("treatment").score_week_8.mean()
        assert means_of(stated) == pytest.approx(wanted.to_dict(), rel=1e-6)
        # Where others are 0, a blank is one as well.
        frame.loc[0, "score_week_8"] = 0.0
        assert bs.analyze(frame, "score_week_8").units == 300
    assert "1970" not in str(found) + found.html() + str(found.to_rows())
    assert not re.search(r"\binf\b", str(found))


def test_sums_by_day_are_asked_about_and_read(tmp_path: Path) -> None:
    frame, path = by_day(), tmp_path / "days.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(Question, match="impressions seems to count the units of a row"):
        bs.analyze(path)
    clicks = bs.LogMetric("clicks", outcome=bs.Bernoulli())
    found = bs.analyze(bs.Log(path, count="impressions"), clicks)
    sums = frame.groupby("variant")[["clicks", "impressions"]].sum()
    assert means_of(found) == pytest.approx((sums.clicks / sums.impressions).to_dict(), rel=1e-9)
    assert found.decision is not None
    assert found.decision.name == "B"
    totals = frame.assign(
        impressions=frame.groupby("variant").impressions.cumsum(),
        clicks=frame.groupby("variant").clicks.cumsum(),
    )
    with pytest.raises(bs.InputError, match="cumulative is missing"):
        bs.analyze(bs.Log(totals, count="impressions"), clicks)
    again = bs.analyze(bs.Log(totals, count="impressions", cumulative=True), clicks)
    assert means_of(again) == pytest.approx(means_of(found), rel=1e-9)


def test_many_tests_of_one_file_make_one_table(tmp_path: Path) -> None:
    frame, path = several_tests(), tmp_path / "tests.csv"
    frame.to_csv(path, index=False)
    clicks = bs.LogMetric("clicks", outcome=bs.Bernoulli())
    found = bs.analyze_each(bs.Log(path, count="impressions"), clicks, test="test")
    assert len(found.rows) == 40
    decided = {row.test for row in found.rows if row.decision}
    different = {f"test {i:02}" for i in range(0, 40, 4)}
    assert len(different & decided) >= 8
    # 10 % of the 30 tests without a difference may be decided: three standard errors above that.
    assert len(decided - different) <= 3 + 3 * np.sqrt(30 * 0.1 * 0.9)


DIRTY: dict[str, tuple[Callable[[str], str], str]] = {
    "a blank value": (lambda t: t.replace(",21.", ",", 1), "unit without any value"),
    "a word": (
        lambda t: t + "P999,drug,30,f,2.0,lost\n",
        "value not a number",
    ),
    "a row of totals": (lambda t: t + "Total,drug,1,f,1,9999\n", "row of totals"),
    "semicolons": (lambda t: t.replace(",", ";"), "289 units"),
    "spaces and case": (lambda t: t.replace(",drug,", ", Drug ,", 20), "arm names"),
    "a header again": (lambda t: t + t.splitlines()[0] + "\n", "repeats the names"),
    "copies": (
        lambda t: t + "".join(line + "\n" for line in t.splitlines()[1:3]),
        "! copies of rows",
    ),
}


@pytest.mark.parametrize("name", DIRTY)
def test_what_is_wrong_with_a_file_is_said(name: str, tmp_path: Path) -> None:
    change, said = DIRTY[name]
    path = tmp_path / "trial.csv"
    path.write_text(change(trial().to_csv(index=False)))
    score = bs.LogMetric("score_week_8", missing="exclude")
    found = bs.analyze(path, score)
    assert said in str(found)
    clean = bs.analyze(trial(), score)
    if name != "copies":
        for mine, theirs in zip(found.arms, clean.arms, strict=True):
            assert mine.mean == pytest.approx(theirs.mean, abs=0.2)


def test_a_point_may_separate_thousands(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    rng = np.random.default_rng(9)
    amounts = rng.integers(200, 4000, 400)
    lines = [f"{i},{'ab'[i % 2]},{n:,}".replace(",", ";", 2) for i, n in enumerate(amounts)]
    text = "\n".join(["user_id;variant;sales", *lines]).replace(",", ".")
    path.write_text(text)
    with pytest.raises(bs.InputError, match="separates thousands"):
        bs.analyze(path)
    found = bs.analyze(bs.Log(path, decimal=","))
    assert found.arms[0].mean == pytest.approx(amounts[::2].mean())


def test_a_total_among_units_is_flagged() -> None:
    rng = np.random.default_rng(10)
    value = rng.exponential(5.0, 400)
    log = {"unit": range(401), "arm": ["a", "b"] * 200 + ["b"], "value": [*value, value.sum()]}
    found = bs.analyze(log)
    (check,) = (check for check in found.flagged if check.name == "extreme values")
    assert "the sum of all others" in check.message
    log["value"] = [*value, 900.0]
    assert "extreme values" in {check.name for check in bs.analyze(log).flagged}


def test_a_time_of_numbers_is_not_an_arrival_unless_it_is_named() -> None:
    rng = np.random.default_rng(11)
    log = {
        "id": range(800),
        "rx": ["a", "b"] * 400,
        "time": rng.integers(1, 3000, 800),
        "status": rng.integers(0, 2, 800),
    }
    found = bs.analyze(log, "status")
    assert found.reading.time is None
    assert any("time has numbers from" in note for note in found.notes)
    assert len(found.days) == 1
    assert bs.analyze(log, time="time").reading.time == "time"
    # Units with several rows over so many days are refused before anything large is made.
    log["id"] = [i // 4 for i in range(800)]
    log["rx"] = ["ab"[i // 4 % 2] for i in range(800)]
    with pytest.raises(bs.InputError, match="too many to follow day by day"):
        bs.analyze(log, time="time")
    assert bs.analyze(log, "status").units == 200


def test_a_rate_per_judged_request_is_one_declaration() -> None:
    """Users who come back, and judgements for a part of their requests."""
    import pandas as pd

    rng = np.random.default_rng(12)
    user = rng.integers(0, 900, 12000)
    arm = np.where(user % 2, "A", "B")
    good = (rng.random(12000) < np.where(arm == "B", 0.78, 0.82)).astype(float)
    good[rng.random(12000) < np.where(arm == "B", 0.6, 0.2)] = np.nan
    log = pd.DataFrame({"user_id": user, "model": arm, "good": good})
    found = bs.analyze(log, "good per row", arm="model", control="A")
    assert means_of(found) == pytest.approx(log.groupby("model").good.mean().to_dict(), rel=1e-6)
    (score,) = found.scores
    assert score.difference == pytest.approx(found.once[0].difference)
    guarded = bs.analyze(
        log,
        bs.LogMetric("good", aggregate="sum"),
        arm="model",
        control="A",
        metrics=[bs.LogMetric("good", per="row", margin=0.02)],
    )
    assert guarded.metrics[0].standings["B"] in ("open", "harmed")
