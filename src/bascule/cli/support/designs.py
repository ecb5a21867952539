"""Designs and worlds as options of a command: what commands that simulate have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer

from bascule.core.design import DEFAULT_ERROR, INCREASE, Design
from bascule.core.errors import InputError
from bascule.core.inputs.serialization import parse_json, read_json
from bascule.core.metrics.metric import Metric
from bascule.core.outcomes import OUTCOMES, Outcome
from bascule.core.registry import Registered, Registry
from bascule.core.rules import RULES, Rule, mixture
from bascule.core.rules.static import StaticStop
from bascule.core.rules.tilt import HorizonGuarantee

if TYPE_CHECKING:
    RuleName = StrEnum
    OutcomeName = StrEnum
    RadiusName = StrEnum
    StopName = StrEnum
    GuaranteeName = StrEnum
else:

    def _names(title: str, values: Iterable[str]) -> type[StrEnum]:
        """Make the names that an option accepts."""
        return StrEnum(title, {value.upper().replace("-", "_"): value for value in values})

    # What is registered is what the command line knows.
    RuleName = _names("RuleName", RULES.kinds)
    OutcomeName = _names("OutcomeName", OUTCOMES.kinds)
    GuaranteeName = _names("GuaranteeName", get_args(HorizonGuarantee))
    RadiusName = _names("RadiusName", get_args(mixture.RadiusName))
    StopName = _names(
        "StopName", dict.fromkeys([*get_args(mixture.StopName), *get_args(StaticStop)])
    )


class GoalName(StrEnum):
    """Which arm is the best."""

    INCREASE = "increase"
    DECREASE = "decrease"


class EngineName(StrEnum):
    """How units whose outcomes keep coming are played."""

    FAST = "fast"
    PLAIN = "plain"


MEANS = typer.Option(
    None, metavar="M1 M2 ...", help="The true mean of each arm.", show_default=False
)
ALPHA = typer.Option(
    None, help="Knob of ucb: 1 saves regret, inf saves time; 2 if not given.", show_default=False
)
RULE = typer.Option(
    None,
    help="Who gets the next unit, and when to stop; ucb if not given.",
)
RADIUS = typer.Option(
    None,
    help="For ucb: whose radius an arm has; paper if not given.",
)
GROWTH = typer.Option(
    None, help="For --radius looks: how many times later the next look comes.", show_default=False
)
STOP = typer.Option(
    None,
    help="For ucb, etc and static: what ends a test; intervals if not given, or the horizon.",
)
BATCH = typer.Option(
    None, help="For tilt: units of each challenger assigned at once; 1 if not given."
)
POPULATION = typer.Option(
    None, help="For static: how many units there are in all.", show_default=False
)
HORIZON = typer.Option(
    None, help="For static: the last stage; without one it has no end.", show_default=False
)
TILT = typer.Option(
    None,
    help="Knob of tilt: 1 is an even split, more saves regret; 3 if not given.",
    show_default=False,
)
EFFECT = typer.Option(None, help="For tilt: the difference worth finding.", show_default=False)
POWER = typer.Option(
    None,
    help="For tilt: end the test where --effect is found with this probability.",
    show_default=False,
)
BASELINE = typer.Option(
    None, help="For tilt with --power: the mean of 0/1 outcomes without the effect."
)
GUARANTEE = typer.Option(
    None, help="For tilt with --power: gaussian takes outcomes as normal; proven if not given."
)
FUTILITY = typer.Option(
    None, help="For tilt with --power: end a test whose chance to find --effect is below this."
)
OUTCOME = typer.Option(None, help="Outcome model; gaussian if not given.")
SIGMA = typer.Option(
    None,
    help="For gaussian: spread of one outcome; 1 if not given. For numeric: the spread to play.",
    show_default=False,
)
LOW = typer.Option(
    None, help="For bounded: no outcome lies below; 0 if not given.", show_default=False
)
HIGH = typer.Option(
    None, help="For bounded: no outcome lies above; 1 if not given.", show_default=False
)
SIGMA_UNIT = typer.Option(
    None, help="For recurrent: spread of the units; 1 if not given.", show_default=False
)
SIGMA_NOISE = typer.Option(
    None, help="For recurrent: spread of one unit's outcomes; 1 if not given.", show_default=False
)
ERROR = typer.Option(
    None,
    help=f"Probability of declaring a worse arm the winner, at most; {DEFAULT_ERROR} if not given.",
    show_default=False,
)
SIDES = typer.Option(
    None,
    min=1,
    max=2,
    help="2: --error bounds that either of two equal arms wins, a two-sided error; 0.05 then gives "
    "95 % intervals. 1, a worse arm wins, if not given.",
    show_default=False,
)
DELTA = typer.Option(
    None, help="The paper's nominal parameter, instead of --error.", show_default=False
)
MIN_EFFECT = typer.Option(
    None,
    help="The smallest difference that matters; a test also ends when all are proven smaller.",
    show_default=False,
)
GOAL = typer.Option(
    None,
    help="Whether the highest mean is the best or the lowest; increase if not given.",
)
CONTROL = typer.Option(
    None, help="The arm that others are compared with; the first if not given.", show_default=False
)
MAX_UNITS = typer.Option(None, help="End a run here, undecided.", show_default=False)
SEED = typer.Option(0, help="Same seed, same runs.")
THREADS = typer.Option(None, help="Threads to use; every core if not given.", show_default=False)
CONNECT_SECONDS, RETRIES = 10, 3
"""How long to wait for a Dask scheduler, and how often it hands a chunk to another worker."""

DASK = typer.Option(
    None,
    metavar="ADDRESS",
    help="Simulate on the workers of a Dask cluster: the address of its scheduler, as "
    "tcp://127.0.0.1:8786.",
    show_default=False,
)
DEVICE = typer.Option(
    None, help="Simulate on a GPU with cuda; on the CPU if not given.", show_default=False
)
ENGINE = typer.Option(None, help="For recurrent: plain draws every outcome; fast if not given.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON object.")


class DeviceName(StrEnum):
    """What simulations run on."""

    CPU = "cpu"
    CUDA = "cuda"


@contextmanager
def workers(dask: str | None, device: DeviceName | None = None) -> Iterator[None]:
    """Simulate on a GPU, or on the workers of a Dask cluster, where one of them is given."""
    if device is not None:
        from bascule.simulation.engines.backends.gpu import use_device

        if dask is not None:
            raise InputError("device", "--device and --dask cannot both be given: drop one of them")
        with use_device(device.value):
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
        given[option] = getattr(value, "value", value)
    return registry.get(kind)(**given)


def owner_of(option: str) -> str | None:
    """Return the outcome model that an option belongs to.

    >>> owner_of("sigma_unit")
    'recurrent'
    """
    return next((kind for kind in OUTCOMES.kinds if option in _fields(OUTCOMES.get(kind))), None)


def _fields(cls: type[Any]) -> set[str]:
    return {field.name for field in dataclasses.fields(cls)} - {"kind"}


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
    if text.lstrip().startswith("{"):
        data = parse_json(text, "world", "--world")
    elif text.endswith(".json"):
        data = read_json(text, "world")
    else:
        return text
    if not isinstance(data, dict):
        raise InputError("world", f"{text} holds no world: it must be one JSON object")
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
    data = (
        read_json(text, "metric")
        if text.endswith(".json")
        else parse_json(text, "metric", "--metric")
    )
    if not isinstance(data, dict):
        raise InputError("metric", f"{text:.60} holds no metric: it must be one JSON object")
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
    found = {}
    for text in given:
        name, _, numbers = text.partition("=")
        try:
            found[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise InputError(
                option,
                f"--{option} must be NAME=MEAN,MEAN with one mean an arm (got {text!r:.60})",
            ) from None
    return found


def arm_names(arms: int) -> list[str]:
    """Return names for arms that have none: letters, or numbers when there are too many.

    >>> arm_names(3)
    ['A', 'B', 'C']
    """
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if arms <= len(letters):
        return list(letters[:arms])
    return [f"arm-{i + 1}" for i in range(arms)]
