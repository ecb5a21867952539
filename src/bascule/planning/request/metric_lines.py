"""Guardrails and secondary metrics as people write them, in a line each."""

from __future__ import annotations

from typing import Any, get_args

from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import amount
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal, Harm, Metric
from bascule.core.outcomes import OUTCOMES, Outcome

EXAMPLE = "latency; gaussian 30; decrease; margin 5"

NUMBERS = ("margin", "error", "baseline")
"""Parts of a metric that are a word and a number."""


def metric_of(line: str) -> Metric:
    """Return the metric that a line describes: its name, outcome model, goal, and more.

    Parts are separated by semicolons. The outcome model has its numbers behind it: "bernoulli",
    "gaussian 30", "bounded 0 100", "numeric", "ratio 0.1 4". A metric with a margin is a guardrail,
    one without is secondary. "window 1d" is how long events count: any of a rate, sums of others.

    >>> metric_of("latency; gaussian 30; decrease; margin 5; baseline 120").margin
    5.0
    >>> metric_of("spend; bounded 0 100").role
    'secondary'
    """
    name, *parts = (part.strip() for part in line.split(";"))
    given: dict[str, Any] = {}
    for part in parts:
        word, *numbers = part.split() or [""]
        field, value = _part(name, word.lower(), numbers)
        if field in given:
            raise InputError("metrics", f"metric {name:.60} has two parts for its {field}")
        given[field] = value
    if "outcome" not in given:
        raise InputError(
            "metrics", f"metric {name:.60} has no outcome model: write it as in {EXAMPLE!r}"
        )
    if "measure" in given:
        aggregate = "any" if given["outcome"].binary else "sum"
        given["measure"] = Measure(given["measure"], aggregate)  # type: ignore[arg-type]
    given.setdefault("role", "guardrail" if "margin" in given else "secondary")
    try:
        return Metric(name, **given)
    except InputError as error:
        raise InputError("metrics", f"metric {name:.60}: {error}") from None


def _part(name: str, word: str, numbers: list[str]) -> tuple[str, Any]:
    if word in OUTCOMES.kinds and not OUTCOMES.get(word).recurring:
        return "outcome", _outcome(name, word, numbers)
    if word in get_args(Goal) and not numbers:
        return "goal", word
    if word in NUMBERS and len(numbers) == 1:
        return word, amount("metrics", numbers[0], f"it is the {word} of {name:.60}")
    if word == "window" and len(numbers) == 1:
        return "measure", numbers[0]
    if word == "harm" and len(numbers) == 1 and numbers[0] in get_args(Harm):
        return word, numbers[0]
    written = " ".join([word, *numbers])
    raise InputError(
        "metrics", f"metric {name:.60} has the part {written!r:.60}: write it as in {EXAMPLE!r}"
    )


def _outcome(name: str, kind: str, numbers: list[str]) -> Outcome:
    sizes = [amount("metrics", text, f"it is a number of {name:.60}") for text in numbers]
    model = OUTCOMES.get(kind)
    try:
        made: Outcome = model(*sizes)
        if sizes or made.binary or made.estimated:
            return made
        raise InputError("outcome", "its numbers are missing")
    except (InputError, TypeError) as error:
        raise InputError(
            "metrics", f"metric {name:.60}: {kind} is written as {model.example} is ({error})"
        ) from None
