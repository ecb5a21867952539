"""Outcome models and rules of a user are analysed by what they state about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import bascule as bs
from bascule.analysis.call import call_of
from bascule.core.outcomes import OUTCOMES, Noise, Normal, Outcome
from bascule.core.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "research" / "add-a-rule.md"
UNITS = 2000


@pytest.fixture(scope="module")
def own() -> Iterator[dict[str, Any]]:
    """The outcome model `Poisson` and the rule `Eager`, as the docs define them."""
    names: dict[str, Any] = {"__name__": "own_models"}
    model, rule = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[:2]
    exec(compile(model + rule, PAGE, "exec", dont_inherit=True), names)
    yield names
    OUTCOMES.forget("poisson")
    RULES.forget("eager")


@dataclass(frozen=True)
class OwnOutcome(Outcome):
    """A model whose facts are given to it: what a user's own class may state."""

    kind: str = field(default="own", kw_only=True, repr=False)
    example: ClassVar[str] = "OwnOutcome()"

    @property
    def words(self) -> str:
        return "outcomes of our own"

    def noise(self, means: tuple[float, ...]) -> Noise:
        return Normal()


@dataclass(frozen=True)
class Whole(OwnOutcome):
    """Whole numbers, positive or negative, with a spread of at most 2."""

    integer: ClassVar[bool] = True
    sigma: ClassVar[float] = 2.0


@dataclass(frozen=True)
class Even(OwnOutcome):
    """Even numbers from 0 to 6: a check of values that is the model's own."""

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 6.0
    sigma: ClassVar[float] = 3.0

    def check_value(self, value: float) -> None:
        if value % 2:
            raise bs.InputError("value", f"value must be even (got {value:g})")


@dataclass(frozen=True)
class Answer(OwnOutcome):
    """Yes or no."""

    binary: ClassVar[bool] = True
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    sigma: ClassVar[float] = 0.5


@dataclass(frozen=True)
class Visits(OwnOutcome):
    """Outcomes that recur, with spreads of 1 and 2."""

    recurring: ClassVar[bool] = True
    sigma: ClassVar[float] = 2.0
    unit_spreads: ClassVar[tuple[float, float]] = (1.0, 2.0)


def log(values: Any, *, rows: int = 1) -> dict[str, Any]:
    """Units in two arms over ten days, each with one of `values` in so many rows."""
    units = np.arange(len(values))
    days = np.datetime64("2026-01-01T12:00:00") + (10 * units // len(values)) * np.timedelta64(
        1, "D"
    )
    hours = np.repeat(np.arange(rows), len(values)) * np.timedelta64(60, "m")
    return {
        "unit": np.tile(units, rows),
        "arm": np.tile(np.array(["a", "b"])[units % 2], rows),
        "value": np.concatenate([values, *[0.0 * values] * (rows - 1)]),
        "time": np.tile(days, rows) + hours,
    }


def counts(rates: tuple[float, float] = (1.0, 1.6)) -> Any:
    """Poisson counts, the means of which alternate between the arms."""
    rng = np.random.default_rng(0)
    return rng.poisson(np.tile(rates, UNITS // 2)).astype(float)


def check(analysis: bs.analysis.Analysis, name: str = "outcome values") -> bs.analysis.Check:
    (found,) = (check for check in analysis.checks if check.name == name)
    return found


def test_counts_are_bet_on_within_their_limits(own: dict[str, Any]) -> None:
    model = own["Poisson"](20)
    analysis = bs.analyze(log(counts()), bs.LogMetric(outcome=model))
    assert (analysis.evidence.name, analysis.guarantee) == ("bets on daily sums", "proven")
    assert analysis.design.outcome == model
    assert analysis.decision is not None
    assert analysis.decision.name == "b"
    bounded = bs.analyze(log(counts()), bs.LogMetric(outcome=bs.Bounded(0, 20)))
    assert (analysis.effects, analysis.days) == (bounded.effects, bounded.days)
    assert check(analysis).message == "all outcomes fit counts up to 20"


def test_a_report_has_the_words_of_the_model_and_no_percent(own: dict[str, Any]) -> None:
    analysis = bs.analyze(log(counts()), bs.LogMetric(outcome=own["Poisson"](20)))
    page = analysis.html()
    for words in (
        "one outcome (counts up to 20)",
        "(proven, for any outcomes between 0 and 20)",
        "events, against the best arm",
    ):
        assert words in page
    assert "points" not in page
    assert "conversions" not in page
    assert analysis.to_dict()["design"]["outcome"] == {"kind": "poisson", "most": 20}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"looks": "now"},
        {"window": "2d", "until": "2026-02-01"},
        {"rows": 2},
        {"assigned": True},
        {"assigned": True, "window": "2d", "until": "2026-02-01"},
    ],
    ids=str,
)
def test_outcomes_that_the_model_does_not_allow_are_counted_and_said(
    own: dict[str, Any], options: dict[str, Any]
) -> None:
    values = counts()
    values[[3, 8, 9]] = 2.5
    values[:2] = 30.0
    data = log(values, rows=options.pop("rows", 1))
    if options.pop("assigned", False):
        options["assignments"] = {name: data[name] for name in ("unit", "arm", "time")}
        data = {name: data[name] for name in ("unit", "value", "time")}
    analysis = bs.analyze(**call_of(data, outcome=own["Poisson"](20), **options))
    assert analysis.excluded == {"outcome beyond the limits, counted as the nearest": 2}
    assert check(analysis).flagged
    assert check(analysis).message.startswith(
        "3 outcomes do not fit counts up to 20 and still count: value must be a whole number "
        "(got 2.5)"
    )


def test_a_check_of_values_may_be_the_models_own() -> None:
    values = 2.0 * np.minimum(counts(), 3.0)
    assert not check(bs.analyze(log(values), bs.LogMetric(outcome=Even()))).flagged
    values[0] = 3.0
    assert (
        "value must be even (got 3)"
        in check(bs.analyze(log(values), bs.LogMetric(outcome=Even()))).message
    )


def test_a_known_spread_gives_a_mixture_with_it() -> None:
    values = counts() - 1.0
    analysis = bs.analyze(log(values), bs.LogMetric(outcome=Whole()))
    assert (analysis.evidence.name, analysis.guarantee) == ("normal mixture", "proven")
    assert analysis.effects == bs.analyze(log(values), bs.LogMetric(outcome=bs.Gaussian(2))).effects
    values[0] = 0.5
    assert check(bs.analyze(log(values), bs.LogMetric(outcome=Whole()))).flagged


def test_a_model_that_states_nothing_is_never_proven() -> None:
    analysis = bs.analyze(log(counts()), bs.LogMetric(outcome=OwnOutcome()))
    assert analysis.guarantee == "asymptotic"
    assert analysis.effects == bs.analyze(log(counts())).effects


def test_outcomes_of_a_binary_model_are_shown_in_percent() -> None:
    values = np.minimum(counts(), 1.0)
    analysis = bs.analyze(log(values), bs.LogMetric(outcome=Answer()))
    assert analysis.effects == bs.analyze(log(values), bs.LogMetric(outcome=bs.Bernoulli())).effects
    assert "points" in analysis.html()
    with pytest.raises(bs.InputError, match=r"not every outcome is 0 or 1, as Answer\(\) needs"):
        bs.analyze(log(counts()), bs.LogMetric(outcome=Answer(), aggregate="last"))


@pytest.mark.parametrize("model", [Visits(), bs.Recurrent(1, 2)])
def test_repeated_outcomes_are_compared_by_their_mean_instead_of_a_recurring_model(
    model: Any,
) -> None:
    data = log(counts(), rows=3)
    with pytest.raises(bs.InputError, match="VALUE per row"):
        bs.analyze(data, bs.LogMetric(outcome=model))
    analysis = bs.analyze(data, "value per row")
    means = [arm.mean for arm in analysis.arms]
    values = counts()
    assert means == pytest.approx([values[at::2].mean() / 3.0 for at in (0, 1)])


def test_a_rule_of_a_user_is_asked_for_its_procedure(own: dict[str, Any]) -> None:
    design = bs.Design(["a", "b"], own["Poisson"](20), own["Eager"](3), error=0.05)
    analysis = bs.analyze(log(counts()), design=design)
    assert analysis.evidence.name == "bets on daily sums"
    assert analysis.design is design


@pytest.mark.parametrize(
    ("rule", "by_rule"), [(bs.UCB(2), True), (bs.UCB(float("inf")), False), (bs.ETC(), False)]
)
def test_intervals_of_a_rule_are_used_where_they_hold_for_any_split(
    rule: Any, by_rule: bool
) -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), rule, error=0.05)
    analysis = bs.analyze(log(np.minimum(counts((0.1, 1.6)), 1.0)), design=design)
    assert analysis.evidence.by_rule == by_rule
    # An even split is looked at in rounds, which a log of somebody else's test does not have.
    assert any("not in the rounds of" in note for note in analysis.notes) != by_rule
    assert analysis.decision is not None
