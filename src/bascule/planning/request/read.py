"""Build a request from user input: defaults, a sample of outcomes, a cap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from bascule.core.design_parts import check_kind
from bascule.core.errors import InputError, invalid, meant
from bascule.core.inputs.checks import amount, tidy
from bascule.core.outcomes import OUTCOMES, Bernoulli, Bounded, Numeric, Outcome, Recurrent
from bascule.planning.request.options import BASELINE, PLAN, Lift, PlanOptions
from bascule.planning.request.request import PlanRequest
from bascule.planning.request.sample import Sample, read_sample

USUAL_NAMES = {
    "mde": "lift",
    "minimum_detectable_effect": "lift",
    "effect": "lift",
    "effect_size": "lift",
    "uplift": "lift",
    "alpha": "error",
    "significance": "error",
    "conversion_rate": "baseline",
    "traffic": "units_per_day",
    "users_per_day": "units_per_day",
    "visitors_per_day": "units_per_day",
    "variants": "arms",
    "guardrails": "metrics",
}
"""Names of options in other tools, with their names here."""


def plan_request(
    outcome: Outcome | PlanRequest | None = None,
    baseline: float | str | None = None,
    lift: Lift | None = None,
    **options: Unpack[PlanOptions],
) -> PlanRequest:
    """Return the request, with omitted parts taken from defaults or from a sample.

    Python, the command line and the service build their requests here. With a `cap`, outcomes range
    from 0 to the cap: an amount, or a quantile of the sample such as "99%". A `PlanRequest` is
    returned unchanged, and no part of it may be given a second time.

    >>> import bascule as bs
    >>> plan_request(bs.Gaussian(5.0), baseline=20, lift="10%").lifts
    (2.0,)
    """
    asked = {"outcome": outcome, "baseline": baseline, "lift": lift, **options}
    if isinstance(outcome, PlanRequest):
        for name, value in asked.items():
            if name != "outcome" and value is not None:
                raise InputError(
                    name, f"{name} is given twice: the request has it already, so leave it out"
                )
        return outcome
    _check_names(outcome, asked)
    parts: dict[str, Any] = {**options}
    sample, cap = parts.pop("sample", None), parts.pop("cap", None)
    known = sample if isinstance(sample, Sample) or sample is None else read_sample(sample, cap)
    if cap is not None:
        if outcome is not None:
            raise invalid("cap does not go with outcome: leave one out", others=("outcome",))
        outcome = _capped(known, cap)
    if outcome is None:
        outcome = Bernoulli() if known is None else outcome_of(known)
    if known is not None:
        _check_sample(known, outcome)
        outcome = outcome.expecting(known.sigma)
    if baseline is None:
        baseline = _usual_baseline(outcome, known)
    mean = amount("baseline", baseline, "it is the mean of the first arm")
    spread_is_open = outcome.limited and outcome.variance(mean) is None
    if spread_is_open and parts.get("spread") is None and known is not None:
        parts["spread"] = known.sigma
    return PlanRequest(outcome, mean, lift, sample=known, **parts)


def _check_names(outcome: object, asked: Mapping[str, Any]) -> None:
    """Raise an error if an option does not exist, or if `outcome` is not an outcome model."""
    for name in asked:
        if name not in PLAN:
            words = f"it is called {USUAL_NAMES[name]} here" if name in USUAL_NAMES else ""
            near = meant(name, PLAN)[2:] or "help(bascule.plan) and the reference list the options"
            raise InputError(name, f"{name} is not an option of a plan: {words or near}")
    examples = ", ".join(model.example for model in OUTCOMES)
    if isinstance(outcome, int | float | str):
        raise invalid(
            f"outcome must be an outcome model such as {examples} (got {outcome!r:.60}): give "
            'baseline and lift by name, as plan(baseline="5%", lift="20%")'
        )
    if outcome is not None:
        check_kind("outcome", outcome, Outcome, examples)


def _capped(sample: Sample | None, cap: float | str) -> Outcome:
    if sample is not None:
        if sample.cap is None:
            raise InputError("cap", "give the cap to Sample.of, which then applies it")
        return Bounded(0.0, sample.cap)
    if isinstance(cap, str) and cap.strip().endswith("%"):
        raise invalid(
            f"cap {cap} is a quantile of earlier outcomes: give them (sample), or an amount",
            others=("sample",),
        )
    return capped_at(cap)


def capped_at(cap: float | str) -> Bounded:
    """Return the outcome model of amounts from 0 to a cap.

    >>> capped_at("5k")
    Bounded(low=0.0, high=5000.0)
    """
    return Bounded(0.0, amount("cap", cap, "larger outcomes count as the cap"))


def outcome_of(sample: Sample) -> Outcome:
    """Return an outcome model that fits a sample.

    A sample proves neither limits nor a maximum spread, so the model assumes neither.

    >>> outcome_of(Sample.of([0, 1] * 10)), outcome_of(Sample.of([0, 2] * 10)).estimated
    (Bernoulli(), True)
    """
    if sample.recurring:
        return Recurrent(sample.sigma_unit, sample.sigma_noise)
    if sample.zero_or_one:
        return Bernoulli()
    return Numeric(_varying(sample))


def _varying(sample: Sample) -> float:
    if sample.low == sample.high:
        raise invalid("sample has the same outcome in every row: give outcomes that vary")
    return sample.sigma


def _check_sample(sample: Sample, outcome: Outcome) -> None:
    _varying(sample)
    if outcome.binary and not sample.zero_or_one:
        raise invalid(
            "sample has outcomes other than 0 and 1: use Numeric(), or Bounded(low, high)"
        )
    if not outcome.low <= sample.low <= sample.high <= outcome.high:
        raise invalid(
            f"sample has outcomes from {sample.low:g} to {sample.high:g}, beyond the limits "
            f"{outcome.low:g} and {outcome.high:g}: widen the limits"
        )


def _usual_baseline(outcome: Outcome, sample: Sample | None) -> float:
    if sample is not None:
        return tidy(sample.mean)
    if outcome.binary:
        return BASELINE
    if (outcome.known_spread or outcome.estimated) and outcome.low < 0 < outcome.high:
        return 0.0
    raise invalid("baseline is missing: give the mean of the first arm")
