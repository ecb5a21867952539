"""The tests of segments: ordinary experiments made together, and which of them a unit is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from bascule.core.approximate import error_words
from bascule.core.enrolment.segments import Member
from bascule.core.enrolment.targeting import Context
from bascule.core.errors import InputError
from bascule.live.api.experiment import Experiment
from bascule.live.commit.context import StoreContext
from bascule.live.reports.status import Status
from bascule.live.steps.inputs import checked_unit
from bascule.live.steps.maturity import Event
from bascule.live.storage.queries import Rows, homes, load

Result = TypeVar("Result")


class SegmentTests:
    """The tests of the segments of a design. `Store.create_segments` makes them.

    Each of `tests` is an ordinary experiment, named `NAME.SEGMENT`. `test_of` says which of them a
    unit is in.

    >>> import bascule as bs
    >>> segments = bs.Segments("device", ["mobile", "desktop"])
    >>> design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), segments=segments)
    >>> store = bs.open(":memory:")
    >>> by_device = store.create_segments("button", design, reports="always")
    >>> arm = by_device.test_of("user-42", {"device": "mobile"}).assign("user-42")
    >>> by_device.test_of("user-42").record("user-42", 1.0).accepted
    True
    >>> by_device.tests["mobile"].status().units
    1
    """

    def __init__(self, store: StoreContext, member: Member, tests: Mapping[str, Experiment]):
        self.name = member.test
        self.error = member.error
        self.segments = member.segments
        self.tests = {segment: tests[segment] for segment in member.segments.all}
        self._store = store

    @property
    def promise(self) -> str:
        """What the error of all segments together bounds."""
        return f"{error_words(self.error)}, in all {len(self.tests)} segments together"

    def test_of(
        self, unit: str | int, context: Context | None = None, *, segment: str | None = None
    ) -> Experiment:
        """Return the test of a unit: the one that it is in, or that of its segment if it is new.

        A new unit belongs to the `segment` that is given, or to that of its context. The test that
        assigns it looks again, so that of two programs that assign it in different segments at the
        same moment one is refused, and finds the other's when it repeats this.
        """
        named = checked_unit(unit)
        home = self.homes([named]).get(named)
        return home or self.tests[self.segments.segment_of(context, segment)]

    def remembered(self, unit: str) -> Experiment | None:
        """Return the test of a unit if this program remembers it; no database is asked."""
        tests = self.tests.values()
        return next((one for one in tests if one.remembered(unit) is not None), None)

    def homes(self, units: Sequence[str]) -> dict[str, Experiment]:
        """Return the tests of those units that are in one; what is remembered is not read."""
        known = {unit: home for unit in units if (home := self.remembered(unit)) is not None}
        left = [*dict.fromkeys(unit for unit in units if unit not in known)]
        if left:
            by_number = {test.id: test for test in self.tests.values()}
            with self._store.reading() as connection:
                numbers = homes(connection, [*by_number], left)
            known |= {unit: by_number[number] for unit, number in numbers.items()}
        return known

    def homes_of(self, events: Sequence[Event]) -> list[Experiment]:
        """Return the test of each event: that of its unit, or of the request whose id it has.

        Where neither is known, it is the test of the last segment.
        """
        units = self.homes([event.unit for event in events if event.unit])
        asked = [event.id for event in events if not event.unit and event.id is not None]
        stored: dict[str | None, Experiment] = {}
        excluded: dict[str | None, Experiment] = {}
        together: dict[str | None, Experiment] = {
            one.id: units[one.unit] for one in events if one.id and one.unit in units
        }
        with self._store.reading() as connection:
            for test in self.tests.values() if asked else ():
                key = load(connection, test.id, test.name, None)[0].state.names.key
                first, second = Rows(connection, test.id).requests(asked, key)
                stored |= dict.fromkeys(first, test)
                excluded |= dict.fromkeys(second, test)
        known = excluded | together | stored
        last = self.tests[self.segments.all[-1]]
        return [
            units.get(event.unit, last) if event.unit else known.get(event.id, last)
            for event in events
        ]

    def each(self, do: Callable[[Experiment], Result]) -> dict[str, Result]:
        """Call a function with every test that is in a state for it; an error if none is."""
        done: dict[str, Result] = {}
        for segment, test in self.tests.items():
            try:
                done[segment] = do(test)
            except InputError as problem:
                if problem.kind != "conflict":
                    raise
                refused = problem
        if not done:
            raise refused
        return done

    def __repr__(self) -> str:
        return f"SegmentTests({self.name!r})"


def decided_headline(statuses: Mapping[str, Status]) -> str:
    """Return what is decided in some segments, and which are open, in a line."""
    decided = {name: one.decision.name for name, one in statuses.items() if one.decision}
    if not decided:
        is_open = any(one.is_open for one in statuses.values())
        return f"None of {len(statuses)} segments {'is decided yet' if is_open else 'was decided'}"
    said = "; ".join(f"{segment}: {name}" for segment, name in decided.items())
    rest = [segment for segment in statuses if segment not in decided]
    left = f"; undecided: {', '.join(rest)}" if rest else ""
    return f"{len(decided)} of {len(statuses)} segments decided: {said}{left}"
