"""Designs and worlds as options of a command: what commands that simulate have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from bascule.cli.support.declared import named
from bascule.core.design import DEFAULT_ERROR, INCREASE, Design
from bascule.core.errors import InputError
from bascule.core.inputs.serialization import parse_json, read_json
from bascule.core.metrics.metric import Metric
from bascule.core.options import Option, options_of
from bascule.core.outcomes import OUTCOMES, Outcome
from bascule.core.registry import Registered, Registry
from bascule.core.rules import RULES, Rule, mixture
from bascule.core.rules.static import StaticStop

if TYPE_CHECKING:
    RuleName = str
    OutcomeName = str
    StopName = str
else:
    # What is registered is what the command line knows.
    RuleName, OutcomeName = Literal[RULES.kinds], Literal[OUTCOMES.kinds]
    StopName = Literal[mixture.StopName, StaticStop]

DeviceName = Literal["cpu", "cuda"]
EngineName = Literal["fast", "plain"]
"""How units whose outcomes keep coming are played."""


def option(meaning: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option of a command that is None where it is not given."""
    return typer.Option(None, help=meaning, metavar=metavar, **more)


MEANS = option("The true mean of each arm.", "M1 M2 ...")
ALPHA = option("Knob of ucb: 1 saves regret, inf saves time; 2 if not given.")
RULE = option("Who gets the next unit, and when to stop; ucb if not given.")
RADIUS = option("For ucb: whose radius an arm has; paper if not given.")
GROWTH = option("For --radius looks: how many times later the next look comes.")
STOP = option("For ucb, etc and static: what ends a test; intervals if not given, or the horizon.")
BATCH = option("For tilt: units of each challenger assigned at once; 1 if not given.")
POPULATION = option("For static: how many units there are in all.")
HORIZON = option("For static: the last stage; without one it has no end.")
TILT = option("Knob of tilt: 1 is an even split, more saves regret; 3 if not given.")
EFFECT = option("For tilt: the difference worth finding.")
POWER = option("For tilt: end the test where --effect is found with this probability.")
BASELINE = option("For tilt with --power: the mean of 0/1 outcomes without the effect.")
GUARANTEE = option("For tilt with --power: gaussian takes outcomes as normal; proven if not given.")
FUTILITY = option("For tilt with --power: end a test whose chance to find --effect is below this.")
OUTCOME = option("Outcome model; gaussian if not given.")
SIGMA = option(
    "For gaussian: spread of one outcome; 1 if not given. For numeric: the spread to play."
)
LOW = option("For bounded: no outcome lies below; 0 if not given.")
HIGH = option("For bounded: no outcome lies above; 1 if not given.")
SIGMA_UNIT = option("For recurrent: spread of the units; 1 if not given.")
SIGMA_NOISE = option("For recurrent: spread of one unit's outcomes; 1 if not given.")
ERROR = option(
    f"Probability of declaring a worse arm the winner, at most; {DEFAULT_ERROR} if not given."
)
SIDES = option(
    "2: --error bounds that either of two equal arms wins, a two-sided error; 0.05 then gives "
    "95 % intervals. 1, a worse arm wins, if not given.",
    min=1,
    max=2,
)
DELTA = option("The paper's nominal parameter, instead of --error.")
MIN_EFFECT = option(
    "The smallest difference that matters; a test also ends when all are proven smaller."
)
GOAL = option("Whether the highest mean is the best or the lowest; increase if not given.")
CONTROL = option("The arm that others are compared with; the first if not given.")
MAX_UNITS = option("End a run here, undecided.")
SEED = typer.Option(0, help="Same seed, same runs.")
THREADS = option("Threads to use; every core if not given.")
CONNECT_SECONDS, RETRIES = 10, 3
"""How long to wait for a Dask scheduler, and how often it hands a chunk to another worker."""

DASK = option(
    "Simulate on the workers of a Dask cluster: the address of its scheduler, as "
    "tcp://127.0.0.1:8786.",
    "ADDRESS",
)
DEVICE = option("Simulate on a GPU with cuda; on the CPU if not given.")
ENGINE = option("For recurrent: plain draws every outcome; fast if not given.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON object.")

RUNS = named(
    runs=Option("How many simulated tests; by their length if not given.", kind="whole"),
    seed=Option("Same seed, same runs.", kind="whole", default="0"),
    threads=Option("Threads to use.", kind="whole", unset="every core"),
    dask=Option(
        "Simulate on the workers of a Dask cluster: the address of its scheduler, as "
        "tcp://127.0.0.1:8786.",
        metavar="ADDRESS",
    ),
)
"""How tests are simulated."""

JSON = named(json=Option("Print one JSON object.", kind="switch", group="output"))
"""How the result is printed."""


@contextmanager
def workers(dask: str | None, device: DeviceName | None = None) -> Iterator[None]:
    """Simulate on a GPU, or on the workers of a Dask cluster, where one of them is given."""
    if device is not None:
        from bascule.simulation.engines.backends.gpu import use_device

        if dask is not None:
            raise InputError("device", "--device and --dask cannot both be given: drop one of them")
        with use_device(device):
            yield
        return
    if dask is None:
        yield
        return
    from bascule.simulation.engines.backends.cluster import use_executor

    try:
        from distributed import Client
    except ImportError:
        raise InputError("dask", "--dask needs Dask: pip install 'bascule[dask]'") from None
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


def _options_of(registry: Registry[Any]) -> set[str]:
    return {name for kind in registry.kinds for name in _fields(registry.get(kind))}


def _fields(cls: type[Any]) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)} - {"kind"}


RULE_OPTIONS = _options_of(RULES)
DESIGN_OPTIONS = {"rule", "outcome", "error", "sides", "delta", "min_effect", "goal"}


def describing(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command that describe a rule, an outcome model or a design.

    >>> describing({"tilt": 3.0, "goal": "decrease", "runs": 100})
    {'tilt': 3.0, 'goal': 'decrease'}
    """
    names = RULE_OPTIONS | DESIGN_OPTIONS | _options_of(OUTCOMES)
    return {name: value for name, value in options.items() if name in names}


def described_design(described: Mapping[str, Any], arms: int, max_units: int | None) -> Design:
    """Return the design that the options describe.

    >>> described_design({"rule": "tilt", "tilt": 4.0}, 2, None).rule
    Tilt(tilt=4.0, effect=None, batch=1)
    """
    return Design(
        arms=arm_names(arms),
        outcome=described_outcome(described),
        rule=described_rule(described),
        error=described.get("error"),
        sides=described.get("sides"),
        delta=described.get("delta"),
        max_units=max_units,
        min_effect=described.get("min_effect"),
        goal=described.get("goal") or INCREASE,
    )


def loaded_design(path: Path, described: dict[str, Any], max_units: int | None) -> Design:
    """Return the design of a file, which leaves nothing to describe but its cap."""
    for option, value in described.items():
        if value is not None:
            raise InputError(option, f"{flag(option)} and --design cannot both be given: drop one")
    from bascule.live.api import load_design

    loaded = load_design(path)
    return loaded if max_units is None else dataclasses.replace(loaded, max_units=max_units)


def described_outcome(described: Mapping[str, Any]) -> Outcome:
    """Return the outcome model that the options describe.

    >>> described_outcome({"outcome": "bounded", "high": 5.0})
    Bounded(low=0.0, high=5.0)
    """
    kind = described.get("outcome") or "gaussian"
    if kind in ("numeric", "ratio"):
        # Its spread is that to expect; the test does not rely on it.
        described = {**described, "sigma": None, "spread": described.get("sigma")}
    return _described(OUTCOMES, described, kind)


def described_rule(described: Mapping[str, Any]) -> Rule:
    """Return the rule that the options describe.

    >>> described_rule({"rule": "etc"})
    ETC(stop='intervals')
    """
    return _described(RULES, described, described.get("rule") or "ucb")


def _described(
    registry: Registry[Registered], described: Mapping[str, Any], kind: str
) -> Registered:
    """Make the registered class of this kind from the options that are fields of it.

    An option that is a field of other classes only is refused.
    """
    given = {}
    for option, value in described.items():
        owners = [other for other in registry.kinds if option in _fields(registry.get(other))]
        if value is None or not owners:
            continue
        if kind not in owners:
            raise InputError(
                option,
                f"{flag(option)} belongs to --{registry.noun} {' or '.join(owners)}, not {kind}: "
                "drop one of them",
            )
        given[option] = value
    return registry.get(kind)(**given)


def owner_of(option: str) -> str | None:
    """Return the outcome model that an option belongs to.

    >>> owner_of("sigma_unit")
    'recurrent'
    """
    return next((kind for kind in OUTCOMES.kinds if option in _fields(OUTCOMES.get(kind))), None)


def parameter_names(kind: str) -> set[str]:
    """Return the parameters of an outcome model, as they are called on the command line.

    >>> sorted(parameter_names("numeric"))
    ['sigma']
    """
    return {option.flag or name for name, option in options_of(OUTCOMES.get(kind)).items()}


def flag(option: str) -> str:
    """Return an option as it is typed.

    >>> flag("sigma_unit")
    '--sigma-unit'
    """
    return "--" + option.replace("_", "-")


def parsed_world(text: str) -> dict[str, Any] | str:
    """Return the world that `--world` names, or has as JSON, or keeps in a file.

    >>> parsed_world('{"batch": 50}')
    {'batch': 50}
    >>> parsed_world("rising")
    'rising'
    """
    is_json = text.endswith(".json") or text.lstrip().startswith("{")
    return _json_object(text, "world") if is_json else text


def _json_object(text: str, noun: str) -> dict[str, Any]:
    """Return the JSON object that an option has, or keeps in a file."""
    is_file = text.endswith(".json")
    data = read_json(text, noun) if is_file else parse_json(text, noun, f"--{noun}")
    if not isinstance(data, dict):
        raise InputError(noun, f"{text:.60} holds no {noun}: it must be one JSON object")
    return data


def parsed_metric(text: str) -> Metric:
    """Return the metric that `--metric` has as a line or as JSON, or keeps in a file.

    >>> parsed_metric("latency; gaussian 30; decrease; margin 5").goal
    'decrease'
    >>> given = '{"name": "latency", "outcome": {"sigma": 30}, "goal": "decrease", "margin": 5}'
    >>> parsed_metric(given).margin
    5.0
    """
    if not text.endswith(".json") and not text.lstrip().startswith(("{", "[")):
        from bascule.planning.request.metric_lines import metric_of

        return metric_of(text)
    data = _json_object(text, "metric")
    arms = {"arms": ["a", "b"], "outcome": {"kind": "bernoulli"}, "rule": {"kind": "tilt"}}
    # Read as a part of a design, so that errors name its fields.
    measure = {"measure": {"window": "1d", "aggregate": "any"}} if "measure" in data else {}
    return Design.from_dict({**arms, **measure, "metrics": [data]}).metrics[0]


def parsed_means(given: list[str] | None, option: str = "metric") -> dict[str, list[float]] | None:
    """Return the means of metrics or segments from texts such as `latency=120,125`.

    >>> parsed_means(["latency=120,125"])
    {'latency': [120.0, 125.0]}
    """
    if not given:
        return None
    means = {}
    for text in given:
        name, _, numbers = text.partition("=")
        try:
            means[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise InputError(
                option,
                f"--{option} must be NAME=MEAN,MEAN with one mean an arm (got {text!r:.60})",
            ) from None
    return means


def arm_names(arms: int) -> list[str]:
    """Return names for arms that have none: letters, or numbers when there are too many.

    >>> arm_names(3)
    ['A', 'B', 'C']
    """
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if arms <= len(letters):
        return list(letters[:arms])
    return [f"arm-{i + 1}" for i in range(arms)]
