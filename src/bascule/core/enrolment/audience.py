"""Select the units of a live test by a share of the traffic, attributes, a layer and a holdout.

The selection depends on hashes of a unit's name and its context on arrival, never on an outcome.
docs/research/enrolment.md says why the proofs still hold and defines the hashes, with test vectors
for other languages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from reprlib import repr as shortened
from typing import Any, ClassVar, NamedTuple

from bascule.core.enrolment.bucket import POINTS, point
from bascule.core.enrolment.targeting import Context, Test, rule_of
from bascule.core.errors import InputError, invalid
from bascule.core.inputs import checks
from bascule.core.inputs.checks import seconds

SLOTS = 1000
"""Number of equal slots of a layer; each test in the layer has slots of its own."""

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of a layer: no unit is in two tests of a layer at the same time.

    - `name`: the name of the layer.
    - `share`: the part of the layer's units that this test has, from 0 to 1: a multiple of 0.001.
    - `slots`: its ranges of slots, each as the first slot and the slot after the last; the store
      fills them in.

    >>> Layer("checkout", 0.25, [(0, 250)]).has("user-42")
    True
    """

    name: str
    share: float = 1.0
    slots: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        _check_name("layer", self.name)
        share = _share("layer", self.share)
        if not math.isclose(share * SLOTS, round(share * SLOTS), abs_tol=1e-9):
            raise invalid(f"layer must have a share in whole thousandths, as 0.125 (got {share})")
        object.__setattr__(self, "share", share)
        try:
            slots = tuple((int(first), int(last)) for first, last in self.slots)
        except (TypeError, ValueError):
            raise InputError(
                "layer",
                f"slots must be pairs of slots, as [(0, 250)] (got {self.slots!r:.60}): "
                "leave them out, and the store chooses them",
            ) from None
        object.__setattr__(self, "slots", slots)

    @property
    def needed(self) -> int:
        """Number of slots that the share needs."""
        return round(self.share * SLOTS)

    def has(self, unit: str) -> bool:
        """Return whether a unit is in the part of the layer that this test has."""
        slot = point(unit, f"layer/{self.name}") * SLOTS // POINTS
        return any(first <= slot < last for first, last in self.slots)


@dataclass(frozen=True, slots=True)
class Holdout:
    """Units that are kept out of every test with this holdout, to compare with later.

    - `name`: the name of the holdout, the same in all its tests.
    - `share`: the part of all units that it keeps out, from 0 to 1.

    >>> Holdout("2026", 0.05).has("user-42")
    False
    """

    name: str
    share: float

    def __post_init__(self) -> None:
        _check_name("holdout", self.name)
        object.__setattr__(self, "share", _share("holdout", self.share))

    def has(self, unit: str) -> bool:
        """Return whether a unit is kept out of tests."""
        return point(unit, f"holdout/{self.name}") < _cut(self.share)


@dataclass(frozen=True)
class Audience:
    """The units that get into a live test; all of them by default.

    A unit that is in a test stays in it, whatever changes later.

    - `share`: the part of the traffic that may get in, by a hash of the unit.
    - `ramp`: a schedule of shares, pairs of a time since the start of the test and the share from
      then on, as `[("0d", 0.05), ("1d", 0.5), ("3d", 1)]`; nobody gets in before its first time. It
      cannot be given together with `share`.
    - `where`: a JsonLogic rule on attributes of the context (docs/using/choose-who-gets-in.md), as
      `{"==": [{"var": "country"}, "FR"]}`.
    - `layer`: the part of a layer that the test has; tests of a layer share no units.
    - `holdout`: units that get into no test with this holdout.

    >>> Audience(share=0.1).keeps_out("button", "user-42", {})
    'share'
    """

    share: float = 1.0
    ramp: Sequence[tuple[float | str, float]] = ()
    where: Mapping[str, Any] | None = None
    layer: Layer | None = None
    holdout: Holdout | None = None
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _share("share", self.share))
        object.__setattr__(self, "ramp", checked_ramp(self.ramp))
        if self.ramp and self.share != 1.0:
            raise invalid("share and ramp cannot both be given: a ramp has the shares")
        if self.where is not None:
            rule_of(self.where)
            # Store a copy, since the caller may change the original.
            object.__setattr__(self, "where", json.loads(json.dumps(self.where)))

    @cached_property
    def _rule(self) -> Test:
        return (lambda _: True) if self.where is None else rule_of(self.where)

    def keeps_out(
        self, test: str, unit: str, context: Context, share: float | None = None
    ) -> str | None:
        """Return the reason that keeps a new unit out of a test; None if it gets in.

        `share` is the share of the traffic that gets in, if it is not that of the audience. The
        first reason that applies is returned, in the order `holdout`, `layer`, `share`, `where`.
        """
        if self.holdout is not None and self.holdout.has(unit):
            return "holdout"
        if self.layer is not None and not self.layer.has(unit):
            return "layer"
        share = self.share if share is None else share
        if share < 1.0 and point(unit, f"share/{test}") >= _cut(share):
            return "share"
        return None if self._rule(context) else "where"

    def with_share(self, share: float) -> Audience:
        """Return the audience with another share of the traffic, and without a ramp."""
        return replace(self, share=share, ramp=())

    def to_dict(self) -> dict[str, Any]:
        """Return the audience as plain data for JSON."""
        data = asdict(self)
        empty: tuple[object, ...] = (None, (), [])
        return {key: part for key, part in data.items() if part not in empty}

    @property
    def words(self) -> str:
        """The audience described in a line of text.

        >>> Audience(share=0.1, holdout=Holdout("2026", 0.05)).words
        '10 % of all units; without holdout 2026 (5 %)'
        """
        parts = [f"{100 * self.share:g} % of all units"]
        if self.ramp:
            steps = (
                f"{100 * share:g} % {f'after {_days(float(at))}' if at else 'at first'}"
                for at, share in self.ramp
            )
            parts = [f"of all units {', '.join(steps)}"]
        if self.where is not None:
            parts.append(f"where {json.dumps(self.where)}")
        if self.layer is not None:
            parts.append(f"in layer {self.layer.name} ({100 * self.layer.share:g} %)")
        if self.holdout is not None:
            parts.append(f"without holdout {self.holdout.name} ({100 * self.holdout.share:g} %)")
        return "; ".join(parts)


WHY = {
    "holdout": "the unit is held out of all tests",
    "layer": "the unit belongs to other tests of the layer",
    "share": "the unit is not in the share of traffic that gets in",
    "where": "the targeting rule is not true for the unit's context",
}
"""Descriptions of the reasons that keep a unit out of a test."""


class Delivery(NamedTuple):
    """The audience of a test, and the values of its arms (their names if `values` is None).

    It is stored separately from the design, which is only about statistics.
    """

    audience: Audience | None = None
    values: tuple[Any, ...] | None = None

    def to_json(self) -> str | None:
        """Return the delivery as JSON; None for the default one."""
        if self == EVERYONE:
            return None
        audience = None if self.audience is None else self.audience.to_dict()
        return json.dumps({"audience": audience, "values": self.values})


EVERYONE = Delivery()
"""The delivery of a test for everyone, with the names of its arms as values."""


@lru_cache(maxsize=256)
def delivery_from_json(text: str | None) -> Delivery:
    """Return the delivery from the JSON of `Delivery.to_json`.

    >>> delivery_from_json(Delivery(Audience(share=0.1), (False, True)).to_json()).values
    (False, True)
    """
    if text is None:
        return EVERYONE
    data = json.loads(text)
    audience = None if data["audience"] is None else read_audience(data["audience"])
    values = None if data["values"] is None else tuple(data["values"])
    return Delivery(audience, values)


def read_audience(data: object) -> Audience:
    """Return an audience from plain data.

    >>> read_audience({"share": 0.1, "layer": {"name": "checkout", "share": 0.5}}).layer.needed
    500
    """
    from pydantic import TypeAdapter

    from bascule.core.inputs.serialization import read

    if not isinstance(data, dict):
        raise invalid(f"audience must be an object with fields (got {data!r:.60})")
    return read(TypeAdapter(Audience), data, "audience")


def free_slots(needed: int, taken: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...] | None:
    """Return the lowest free slots, `needed` in total, as ranges; None if there are too few.

    >>> free_slots(350, [(0, 300), (400, 700)])
    ((300, 400), (700, 950))
    """
    ranges, at = [], 0
    for first, last in [*sorted(taken), (SLOTS, SLOTS)]:
        end = min(first, at + needed)
        if end > at:
            ranges.append((at, end))
            needed -= end - at
        at = max(at, last)
    return tuple(ranges) if needed == 0 else None


def checked_values(values: object, arms: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of the arms in their order: all booleans, numbers, texts or objects.

    >>> checked_values({"old": 1, "new": 2.5}, ["old", "new"])
    (1.0, 2.5)
    """
    if not isinstance(values, Mapping) or set(values) != set(arms):
        raise invalid(
            f"values must name every arm, {', '.join(arms)}, and no other "
            f"(got {shortened(values):.80})"
        )
    listed = [values[arm] for arm in arms]
    kinds = {_kind(value) for value in listed}
    if len(kinds) > 1 or None in kinds:
        raise invalid(
            "values must all be true or false, all finite numbers, or all texts or objects of up "
            f"to 10,000 characters (got {shortened(listed):.80})"
        )
    if kinds == {"number"} and any(isinstance(value, float) for value in listed):
        # Converted, since clients that expect a float do not accept an integer.
        listed = [float(value) for value in listed]
    return tuple(json.loads(json.dumps(listed)))


def _kind(value: object) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number" if -checks.LARGEST <= value <= checks.LARGEST else None
    if isinstance(value, str):
        return "text" if len(value) <= 10_000 else None
    if isinstance(value, (dict, list)):
        try:
            return "object" if len(json.dumps(value, allow_nan=False)) <= 10_000 else None
        except (TypeError, ValueError, RecursionError):
            return None
    return None


def _share(name: str, given: object) -> float:
    share = checks.finite(name, given, "give a part of all units, as 0.1")
    if not 0.0 <= share <= 1.0:
        raise invalid(f"{name} must lie between 0 and 1 (got {given}): 0.1 is a tenth")
    return share


def checked_ramp(ramp: object) -> tuple[tuple[float, float], ...]:
    """Return a ramp with times in seconds; raise `InputError` if times or shares are unordered."""
    remedy = 'give times and shares, as [["0d", 0.1], ["1d", 1]]'
    if isinstance(ramp, str) or not isinstance(ramp, Sequence):
        raise invalid(f"ramp must be a list of pairs (got {ramp!r:.60}): {remedy}")
    steps: list[tuple[float, float]] = []
    for step in ramp:
        if isinstance(step, str) or not isinstance(step, Sequence) or len(step) != 2:
            raise invalid(f"ramp has {step!r:.60}, which is not a pair: {remedy}")
        after, share = seconds("ramp", step[0]), _share("ramp", step[1])
        if steps and (after <= steps[-1][0] or share < steps[-1][1]):
            raise invalid(f"ramp needs increasing times, and shares that never fall: {remedy}")
        steps.append((after, share))
    return tuple(steps)


def _check_name(field: str, name: object) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or "\0" in name:
        raise invalid(
            f"{field} must have a name of 1 to {LONGEST_NAME} characters and no zero character "
            f"(got {name!r:.60})",
        )


@lru_cache(maxsize=256)
def _cut(share: float) -> int:
    """Return the hash value below which a given share of all hash values lies."""
    ratio = Fraction(repr(share))
    return -(-ratio.numerator * POINTS // ratio.denominator)


def _days(length: float) -> str:
    return f"{length / 86400:g} d"
