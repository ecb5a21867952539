"""Metrics as people write them, in a line each: a name, and parts separated by semicolons."""

from __future__ import annotations

from typing import Any, get_args

from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import amount
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal, Harm, Metric
from bascule.core.options import Option, Options
from bascule.core.outcomes import OUTCOMES, Outcome

EXAMPLE = "latency; gaussian 30; decrease; margin 5"

WORDS = ("goal", "aggregate")
"""Options of a metric that are written as their value alone."""

PARTS: Options = {
    "goal": Option(
        "Whether higher or lower values are better.",
        kind="choice",
        choices=get_args(Goal),
        name="goal",
    ),
    "harm": Option(
        "When an arm is removed as harmful.", kind="choice", choices=get_args(Harm), name="harm"
    ),
    "window": Option("How long events count.", name="window"),
    "grace": Option("How much later they may come.", name="grace", needs=("window",)),
    **{
        name: Option(f"It is the {name} of the metric.", kind="number", name=name)
        for name in ("margin", "error", "baseline")
    },
}
"""What a metric of a design may have beside its name and its outcome model."""


def metric_of(line: str) -> Metric:
    """Return the metric that a line describes: its name, outcome model, goal, and more.

    The outcome model has its numbers behind it: "bernoulli", "gaussian 30", "bounded 0 100",
    "numeric", "ratio 0.1 4". A metric with a margin is a guardrail, one without is secondary.
    "window 1d" is how long events count: any of a rate, sums of others. "grace 6h" is how much
    later they may come.

    >>> metric_of("latency; gaussian 30; decrease; margin 5; baseline 120").margin
    5.0
    >>> metric_of("spend; bounded 0 100").role
    'secondary'
    """
    name, given = line_parts(line, PARTS, "metrics")
    if "outcome" not in given:
        raise InputError(
            "metrics", f"metric {name:.60} has no outcome model: write it as in {EXAMPLE!r}"
        )
    if "window" in given:
        aggregate = "any" if given["outcome"].binary else "sum"
        given["measure"] = Measure(
            given.pop("window"),
            aggregate,  # type: ignore[arg-type]
            grace=given.pop("grace", 0.0),
        )
    if "grace" in given:
        raise InputError("metrics", f"metric {name:.60} has grace without a window: give both")
    given.setdefault("role", "guardrail" if "margin" in given else "secondary")
    try:
        return Metric(name, **given)
    except InputError as error:
        raise InputError("metrics", f"metric {name:.60}: {error}") from None


def line_parts(line: str, options: Options, field: str) -> tuple[str, dict[str, Any]]:
    """Return the name in a line, and its other parts by the options that they give.

    A part is an outcome model with its numbers, a word, or the name of an option and its value. An
    error is one of `field`.

    >>> line_parts("clicks per views; decrease; margin 2%", PARTS, "metric")
    ('clicks per views', {'goal': 'decrease', 'margin': 0.02})
    """
    name, *parts = (part.strip() for part in line.split(";"))
    given: dict[str, Any] = {}
    for part in parts:
        try:
            option, value = _read_part(part, options)
        except InputError as error:
            raise InputError(field, f"metric {name:.60}: {error}") from None
        if option in given:
            raise InputError(field, f"metric {name:.60} has two parts for its {option}")
        given[option] = value
    return name, given


def _read_part(part: str, options: Options) -> tuple[str, Any]:
    word, *values = part.lower().split() or [""]
    if word in OUTCOMES.kinds and not OUTCOMES.get(word).recurring:
        return "outcome", _outcome(word, values)
    chosen = [one for one in WORDS if one in options and word in options[one].choices]
    if chosen and not values:
        return chosen[0], word
    if word in options and len(values) == 1:
        return word, options[word].read(part.split()[1])
    named = ", ".join(one for one in options if one not in WORDS)
    raise InputError(
        "part",
        f"unknown part {part!r:.60}: write a metric as in {EXAMPLE!r}; parts that take a value: "
        f"{named}",
    )


def _outcome(kind: str, numbers: list[str]) -> Outcome:
    model = OUTCOMES.get(kind)
    try:
        sizes = [amount("outcome", text, "it is a number of the outcome model") for text in numbers]
        made: Outcome = model(*sizes)
        if sizes or made.binary or made.estimated:
            return made
        raise InputError("outcome", "its numbers are missing")
    except (InputError, TypeError) as error:
        raise InputError("outcome", f"{kind} is written as {model.example} is ({error})") from None
