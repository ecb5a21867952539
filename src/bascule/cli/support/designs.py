"""Options for designs and worlds, shared by the commands that simulate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import typer

from bascule.cli.support.declared import named, read
from bascule.core.design import Design
from bascule.core.errors import InputError, require
from bascule.core.inputs.checks import amount
from bascule.core.inputs.serialization import parse_json, read_json
from bascule.core.options import Option, make, options_of, parameters
from bascule.core.outcomes import OUTCOMES, Outcome
from bascule.core.rules import RULES, Rule
from bascule.research import static, variants  # noqa: F401 (both register rules)

CONNECT_SECONDS, RETRIES = 10, 3
"""Seconds to wait for a Dask scheduler, and how often a chunk is retried on another worker."""

RULE = named(
    rule=Option(
        "The rule: which arm gets the next unit, and when to stop.",
        kind="choice",
        group="basics",
        choices=RULES.kinds,
        default="ucb",
    ),
    **parameters(RULES),
)
"""A rule and its parameters."""

OUTCOME = named(
    outcome=Option(
        "The kind of outcome: 0/1, numbers, a ratio of sums, or recurring outcomes.",
        kind="choice",
        group="basics",
        choices=OUTCOMES.kinds,
        unset="bernoulli if the means are percentages, else gaussian",
    ),
    **parameters(OUTCOMES),
)
"""An outcome model and its parameters."""

OF_DESIGN = ("error", "sides", "delta", "min_effect", "goal")
DESIGN = {**RULE, **OUTCOME, **{name: options_of(Design)[name] for name in OF_DESIGN}}
"""Options that describe a design."""


def one_sided(*names: str) -> dict[str, Option]:
    """Return options of a design for a command whose error is one-sided by default."""
    help_of = {
        "error": "Probability, at most, that a worse arm wins, however often you look (one-sided)."
    }
    settings = {
        name: replace(DESIGN[name], help=help_of.get(name, DESIGN[name].help)) for name in names
    }
    return {**settings, "sides": replace(DESIGN["sides"], default="1")}


CAP = {"max_units": options_of(Design)["max_units"]}
CALENDAR = {name: options_of(Design)[name] for name in ("min_days", "whole_weeks")}

MEANS = named(
    means=Option(
        "The true mean of each arm.", kind="number", group="basics", many=True, metavar="M1 M2 ..."
    )
)

RUNS = named(
    runs=Option("Number of simulated tests; chosen by their length if not given.", kind="whole"),
    seed=Option("Same seed, same runs.", kind="whole", default="0"),
    threads=Option("Threads to use.", kind="whole", unset="every core"),
)
"""Options of a simulation."""

WORKERS = named(
    dask=Option(
        "Simulate on the workers of a Dask cluster: the address of its scheduler, as "
        "tcp://127.0.0.1:8786.",
        metavar="ADDRESS",
        excludes=("device",),
    ),
    device=Option("Simulate on a GPU with cuda.", choices=("cpu", "cuda"), kind="choice"),
)
"""Where tests are simulated."""

DASK = {"dask": WORKERS["dask"]}
JSON = named(json=Option("Print one JSON object.", kind="switch", group="output"))
"""How the result is printed."""


def switch(flag: str, meaning: str) -> Any:
    """Return a Typer switch, which is off by default."""
    return typer.Option(False, flag, help=meaning, metavar="")


AS_JSON = switch("--json", JSON["json"].help)


def runs(count: int) -> dict[str, Option]:
    """Return the options of a simulation, with `count` runs as the default."""
    return {
        **RUNS,
        "runs": replace(RUNS["runs"], help="Number of simulated tests.", default=str(count)),
    }


def option(meaning: str, metavar: str | None = None, **settings: Any) -> Any:
    """Return a Typer option whose value is None if it is not given."""
    return typer.Option(None, help=meaning, metavar=metavar, **settings)


@contextmanager
def workers(given: Mapping[str, Any]) -> Iterator[None]:
    """Simulate on a GPU or a Dask cluster inside this block, if the options name one."""
    dask, device = given.get("dask"), given.get("device")
    if device is not None:
        from bascule.simulation.engines.backends.gpu import use_device

        with use_device(device):
            yield
        return
    if dask is None:
        yield
        return
    from bascule.simulation.engines.backends.cluster import use_executor

    require("dask", "--dask", "distributed")
    from distributed import Client

    try:
        client = Client(dask, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(
            "dask",
            f"no Dask scheduler answers at {dask!r} ({reason}): start one with `dask scheduler`",
        ) from None
    with client, use_executor(client.get_executor(pure=False, retries=RETRIES)):
        yield


def described_design(options: Mapping[str, Any], arms: int) -> Design:
    """Return the design that the options describe.

    >>> described_design({"rule": "tilt", "tilt": "4"}, 2).rule
    Tilt(tilt=4.0, effect=None, batch=1)
    """
    of_design = {name: options_of(Design)[name] for name in (*OF_DESIGN, *CAP, *CALENDAR)}
    rule, outcome = described_rule(options), described_outcome(options)
    return Design(arm_names(arms), outcome, rule, **read(of_design, options))


def loaded_design(options: Mapping[str, Any]) -> Design:
    """Return the design in a file; only its cap and calendar can be set by options."""
    return replace(Design.load(options["design"]), **read({**CAP, **CALENDAR}, options))


def described_outcome(options: Mapping[str, Any]) -> Outcome:
    """Return the outcome model that the options describe.

    Means with a percent sign are those of 0/1 outcomes, unless a spread or limits are given.

    >>> described_outcome({"outcome": "bounded", "high": 5.0})
    Bounded(low=0.0, high=5.0)
    >>> described_outcome({"means": ["5%", "6%"]})
    Bernoulli()
    """
    given, means = _declared(OUTCOME, options), options.get("means") or ()
    percentages = means and all(str(mean).rstrip().endswith("%") for mean in means)
    usual = "bernoulli" if percentages and not given else "gaussian"
    return make(OUTCOMES, options.get("outcome") or usual, given)


def described_rule(options: Mapping[str, Any]) -> Rule:
    """Return the rule that the options describe.

    >>> described_rule({"rule": "etc"})
    ETC(stop='intervals')
    """
    return make(RULES, options.get("rule") or "ucb", _declared(RULE, options))


def _declared(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in options and value is not None}


def parameter_names(kind: str) -> set[str]:
    """Return the parameters of an outcome model, as they are called on the command line.

    >>> sorted(parameter_names("numeric"))
    ['sigma']
    """
    return {option.flag or name for name, option in options_of(OUTCOMES.get(kind)).items()}


def implied(sizes: Mapping[str, Any]) -> str | None:
    """Return the kind of outcome model that the given parameters belong to; None if there is none.

    >>> implied({"sigma": 5.0}), implied({"low": 0.0, "sigma": 2.0}), implied({})
    ('gaussian', 'bounded', None)
    """
    owned = {kind: parameter_names(kind) & {*sizes} for kind in OUTCOMES.kinds}
    # Limits, ratios or the noise of units identify a model better than a spread, which many have.
    special = [kind for kind, names in owned.items() if names - {"sigma"}]
    return next(iter(special or [kind for kind, names in owned.items() if names]), None)


def parsed_world(text: str) -> dict[str, Any] | str:
    """Parse `--world`: the name of a world, JSON, or the name of a JSON file.

    >>> parsed_world('{"batch": 50}')
    {'batch': 50}
    >>> parsed_world("rising")
    'rising'
    """
    is_file = text.endswith(".json")
    if not is_file and not text.lstrip().startswith("{"):
        return text
    data = read_json(text, "world") if is_file else parse_json(text, "world", "--world")
    if not isinstance(data, dict):
        raise InputError("world", f"{text:.60} holds no world: it must be one JSON object")
    return data


def parsed_means(given: list[str] | None) -> dict[str, list[float]] | None:
    """Return the means of metrics from texts such as `latency=120,125`.

    >>> parsed_means(["latency=120,125", "refunds=5%,6%"])
    {'latency': [120.0, 125.0], 'refunds': [0.05, 0.06]}
    """
    remedy = "give NAME=MEAN,MEAN with one mean per arm"
    means = {}
    for text in given or ():
        name, _, numbers = text.partition("=")
        means[name] = [amount("metric", number, remedy) for number in numbers.split(",")]
    return means or None


def arm_names(arms: int) -> list[str]:
    """Return names for arms that have none: letters, or numbers when there are too many.

    >>> arm_names(3)
    ['A', 'B', 'C']
    """
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if arms <= len(letters):
        return list(letters[:arms])
    return [f"arm-{i + 1}" for i in range(arms)]
