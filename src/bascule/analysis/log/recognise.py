"""Which columns of a log are used, found by their names and by what they hold; never guessed.

A column that was not named is used if it is the only one that could be meant. All that is left open
is asked for at once, with a call to copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log.naming import (
    ARM_ENDINGS,
    COUNTS,
    DURATIONS,
    EVENTS,
    IDENTITY,
    KINDS,
    METRICS,
    NUMBER_OF,
    TESTS,
    TREATED,
    column,
    interval,
    listed,
    named,
    other_roles,
    plain,
    usual,
)
from bascule.analysis.log.reading import COUNTS_RISE, OTHER_SUMS, UNITS_OF_SUMS, Question
from bascule.analysis.log.sample import MOSTLY, Sample
from bascule.analysis.log.times import FORMAT_HINT

DAY_NAMES = ("day", "date")
"""Names of times whose small numbers are days of arrival; others may be weeks, or the time since a
unit arrived."""


MOST_NUMBERED = 5
"""Numbers that may be arms are not more than this, or than a tenth of the rows."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The columns of a table that were named or found; None for those that are not there.

    `others` could have been the value, and `notes` say what was not used and why. `wholes` have
    groups of units that all have the same arm.
    """

    unit: str | None
    arm: str
    time: str | None
    value: str | None
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()


def recognised(
    events: Any,
    assignments: Any,
    asked: Asked,
    metric: LogMetric,
    *,
    per: str | None = None,
    test: str | None = None,
) -> Recognised:
    """Return the columns of a log; raise one `Question` for all that are not clear.

    `per` is the denominator where it was made here, and `test` the column of the test in a log of
    many.
    """
    return _Recognition(events, assignments, asked, metric, per, test).result()


class _Recognition:
    """The roles of columns, found one after the other, with what is not clear."""

    def __init__(
        self,
        events: Any,
        assignments: Any,
        asked: Asked,
        metric: LogMetric,
        per: str | None,
        test: str | None,
    ) -> None:
        self.asked, self.metric, self.test = asked, metric, test
        self.alone = assignments is None
        taken = set(other_roles(events if self.alone else assignments, asked, metric, per))
        self.events = Sample(events, set(taken))
        self.arms = self.events if self.alone else Sample(assignments, set(taken))
        self.covariate = column(self.arms.table, "covariate", asked.covariate)
        # Rows that count units, or are units, have no column of identities.
        self.no_unit = asked.log.row_is_unit or asked.log.count is not None
        self.roles: dict[str, str] = {}
        self.unclear: list[str] = []
        self.options: dict[str, Any] = {}
        self.notes: list[str] = []

    def result(self) -> Recognised:
        asked, value = self.asked, self.metric.value
        for role, sample in (("unit", self.events), ("arm", self.arms), ("time", self.events)):
            name = getattr(asked, role)
            if name is not None:
                self._take(role, named(role, name, list(sample.table.columns)), sample)
        if value is not None:
            self._take("metric", self.events.metric(value), self.events)
        self._ask_about_tests()
        if asked.unit is None and not self.no_unit:
            self._find_unit()
        if asked.arm is None:
            self._find_arm()
        self._ask_about_units()
        if asked.time is None:
            self._find_time()
        others: tuple[str, ...] = ()
        if value is None:
            others = self._find_value()
        else:
            free = [name for name in self.events.free if name != self.covariate]
            others = tuple(name for name in self.events.numbers if name in free)
        self._ask_about_sums()
        self._ask_about_intervals()
        self._ask_about_durations()
        self._ask_about_blanks()
        wholes = self._wholes()
        if self.unclear:
            raise Question(asked.log.where.shown, self.roles, self.unclear, **self.options)
        roles = self.roles.get
        return Recognised(
            roles("unit"),
            self.roles["arm"],
            roles("time"),
            roles("metric"),
            others,
            tuple(self.notes),
            tuple(wholes),
        )

    def _take(self, role: str, name: str, sample: Sample) -> None:
        self.roles[role] = name
        sample.taken.add(name)

    def _ask(self, role: str, why: str, columns: Iterable[str]) -> None:
        self.unclear.append(why)
        # Outcomes stand behind what was known before, and late kinds of events are rare.
        given = list(columns)[:: -1 if role == "metric" else 1]
        self.options[role] = next(iter(given), "COLUMN")

    def _choose(self, role: str, sample: Sample, candidates: list[list[str]]) -> bool:
        """Take the only candidate of the first group that has any; ask if it has several."""
        for columns in candidates:
            if len(columns) == 1:
                self._take(role, columns[0], sample)
                return True
            if columns:
                why = f"{role} could be {listed(columns, 'or')}"
                # Of several identities, the one with the most entries is within the others.
                finest = sorted(columns, key=lambda c: role == "unit" and -sample.different(c))
                self._ask(role, why, finest)
                return True
        return False

    def _find_unit(self) -> None:
        sample = self.events
        free = [c for c in sample.free if not re.search(TESTS, plain(c)) and not usual("arm", [c])]
        names = [usual("unit", free), [c for c in free if plain(c) == "id"]]
        if not (self._test and self._counts()):
            # In a log of many tests whose rows count units, an identity is that of an arm's page.
            names.append([c for c in free if re.search(IDENTITY, plain(c))])
        if self._choose("unit", sample, names):
            return
        texts = [c for c in free if c not in (*sample.numbers, *sample.row_numbers)]
        texts = [c for c in texts if sample.table[c].type().is_string() and not self._is_time(c)]
        likely = [c for c in texts if sample.different(c) > MOSTLY * sample.rows > 50]
        if not self.alone or (likely and not self._counts()):
            columns = likely or free
            self._ask("unit", f"unit could be {listed(columns, 'or')}", columns)

    def _is_time(self, name: str) -> bool:
        return bool(usual("time", [name])) or self.events.has_dates(name)

    def _ask_about_units(self) -> None:
        """Ask whether rows with the same entry are one unit, where all of these have one arm.

        If there is no such column, every row is a unit, which is noted.
        """
        sample, arm = self.events, self.roles.get("arm", self.options.get("arm"))
        if self._has_unit or self.no_unit or not self.alone:
            return
        found: list[str] = []
        if arm in sample.table.columns and self._test is None and not self._counts():
            found = self._of_one_arm(str(arm), sample.rows)
        if not found:
            note = "no column is known to have identities, so every row is taken for a unit"
            self.notes.append(note)
            return
        why = (
            f"unit could be {listed(found, 'or')}, all of whose rows have the same arm (if every "
            "row is a unit of its own, give row_is_unit=True, --row-is-unit, and if such groups "
            f"were assigned as a whole also cluster={found[0]!r}, --cluster {found[0]})"
        )
        self._ask("unit", why, sorted(found, key=sample.different, reverse=True))
        sample.taken.update(found)

    @property
    def _has_unit(self) -> bool:
        return "unit" in self.roles or "unit" in self.options

    def _of_one_arm(self, arm: str, units: int) -> list[str]:
        """The columns whose entries have many rows, all of them of the same arm."""
        sample = self.events
        there = [c for c in sample.free if c != arm and c not in sample.row_numbers]
        there = [c for c in there if not self._is_time(c) and not usual("value", [c])]
        there = [c for c in there if not sample.table[c].type().is_floating()]
        return [c for c in there if sample.is_assigned(c, arm, units)]

    def _find_arm(self) -> None:
        sample = self.arms
        if not self.alone and "unit" in self.roles:
            sample.taken.add(self.roles["unit"])
        test, columns = self._test, sample.free
        likely = [c for c in columns if not self._measures(c)]
        groups = [usual(tier, likely) for tier in ("arm", "perhaps an arm")]
        groups.append([c for c in likely if re.search(ARM_ENDINGS, plain(c))])
        flags = [c for c in columns if re.search(TREATED, plain(c))]
        groups.append([c for c in flags if self._has_few(c)])
        if self._choose("arm", sample, groups):
            return
        free = [c for c in columns if c not in (test, *sample.row_numbers)]
        few = [c for c in free if not usual("time", [c]) and self._has_few(c)]
        few = [c for c in few if not usual("value", [c])] or few
        few = sorted(few, key=lambda c: c in sample.numbers)
        if test is not None:
            # Each test has its own arms, so their column has more entries than others.
            few = [c for c in few if c not in sample.numbers] or few
            few = sorted(few, key=sample.different, reverse=True)
        why = f"arm could be {listed(few, 'or')}" if few else "no column looks like the arm"
        every = listed(list(sample.table.columns), "and")
        rest = "" if few else f" (of {every}), and a row must be about one arm"
        self._ask("arm", why + rest, few)

    @property
    def _test(self) -> str | None:
        """The column of the test in a log of many, as given or as it seems."""
        return self.test or self.options.get("test")

    def _measures(self, name: str) -> bool:
        """Whether a column has so many different numbers that they cannot be arms."""
        most = max(MOST_NUMBERED, self.arms.rows / 10)
        return name in self.arms.numbers and self.arms.different(name, self._test) > most

    def _has_few(self, name: str) -> bool:
        """Whether a column has so few entries, in each test of many, that they may be arms."""
        most = MOST_NUMBERED if self.arms.table[name].type().is_numeric() else 10
        return 2 <= self.arms.different(name, self._test) <= most

    def _find_time(self) -> None:
        sample, likely = self.events, []
        for name in usual("time", sample.free):
            if sample.table[name].type().is_time():
                continue
            if (odd := sample.no_time(name)) is not None:
                self.notes.append(
                    f"{name} has entries such as {odd!r}, which are not read as dates, and is not "
                    f"used: if they are, name it (time={name!r}, --time {name!r}) and {FORMAT_HINT}"
                )
                sample.taken.add(name)
                continue
            small = None if plain(name) in DAY_NAMES else sample.small_numbers(name)
            if small is None:
                likely.append(name)
                continue
            low, high = small
            self.notes.append(
                f"{name} has numbers from {low:g} to {high:g} and is not used: if they are the "
                f"days on which units arrived, name it (time={name!r}, --time {name})"
            )
            sample.taken.add(name)
        if not self._choose("time", sample, [likely]):
            dates = [c for c in sample.free if sample.has_dates(c)]
            self.notes += [
                f"{name} has times and is not used: if units arrived then, name it "
                f"(time={name!r}, --time {name!r})"
                for name in dates
            ]

    def _find_value(self) -> tuple[str, ...]:
        sample = self.events
        pair = interval(sample.free)
        rest = {*pair, self.covariate}
        numbers = [c for c in sample.numbers if c in sample.free and c not in rest]
        if not (self._has_unit or self.no_unit):
            counts = self._counts()
            numbers = [c for c in numbers if c not in counts]
        texts = [c for c in usual("value", sample.free) if c not in numbers]
        likely = [*texts, *numbers]
        if usual("value", numbers):
            # Columns with other names of outcomes could be meant as well.
            tiers = ("value", "perhaps a value")
            likely = [c for c in numbers if any(usual(tier, [c]) for tier in tiers)]
        kinds = [c for c in sample.free if c not in numbers and re.search(KINDS, plain(c))]
        if kinds and not numbers:
            named = [f"{kinds[0]}={kind}" for kind in sample.kinds(kinds[0])]
            self._ask("metric", f"metric could be the events with {listed(named, 'or')}", named)
        elif len(likely) == 1:
            self._take("metric", likely[0], sample)
        elif likely:
            self._ask("metric", f"metric could be {listed(likely, 'or')}", likely)
        elif self.alone:
            columns = listed(list(sample.table.columns), "and")
            self._ask("metric", f"no column looks like the metric (of {columns})", ())
        return tuple(c for c in numbers if c not in self.roles.values())

    def _ask_about_tests(self) -> None:
        """Ask whether a column names the tests of a log of many, or the metrics of its rows."""
        sample = self.events
        named = [c for c in sample.free if re.search(TESTS, plain(c))]
        # A column called test may be the arm, unless there is another one.
        arms = [self.roles.get("arm"), *usual("arm", sample.free)]
        tests = [c for c in named if "_" in plain(c) or any(a not in (None, c) for a in arms)]
        tests = [c for c in tests if sample.different(c) > 1]
        metrics = [c for c in sample.free if re.search(METRICS, plain(c))]
        metrics = [c for c in metrics if c not in sample.numbers and sample.different(c) > 1]
        if self.test is not None or not self.alone:
            return
        if tests:
            self._ask("test", f"{tests[0]} seems to name one of several tests", tests)
        elif metrics:
            kinds = listed(sample.kinds(metrics[0]), "and")
            why = f"{metrics[0]} seems to name the metric of each row ({kinds}); each has to be "
            self._ask("test", why + "analysed as a test of its own", metrics)

    def _counts(self) -> list[str]:
        """The columns that seem to count the units of rows, where rows may be sums."""
        sample = self.events
        names = {c: re.sub(NUMBER_OF, "", plain(c)) for c in sample.numbers}
        counts = [c for c in sample.numbers if names[c] in COUNTS and c not in self.roles.values()]
        keys = [c for c in sample.table.columns if c not in sample.numbers]
        keys += [c for r, c in self.roles.items() if r in ("arm", "time") and c not in keys]
        # Rows of single units share their day and arm with others; sums of them do not.
        distinct = counts and keys and sample.rows > 1 and sample.groups(keys) == sample.rows
        return counts if distinct else []

    def _ask_about_sums(self) -> None:
        """Ask whether rows are sums, where none is a unit's and a column seems to count units."""
        if self._has_unit or self.no_unit or not self.alone:
            return
        sample, arm, time = self.events, self.roles.get("arm"), self.roles.get("time")
        counts = self._counts()
        if not counts:
            if arm and time and sample.is_grid(arm, time):
                why = f"there is one row for each {arm} and {time}, so rows seem to be sums: "
                self._ask("count", why + UNITS_OF_SUMS, ())
                self.options["squares"] = "COLUMN"
            return
        self._ask("count", f"{counts[0]} seems to count the units of a row", counts)
        if arm and time and sample.counts_rise(counts[0], arm, time):
            self.unclear.append(COUNTS_RISE)
            self.options["cumulative"] = True
        if "metric" in self.options:
            others = [c for c in sample.numbers if c in sample.free and c not in counts]
            plain_numbers = [c for c in others if sample.table[c].type().is_numeric()]
            parts = [c for c in plain_numbers if sample.no_part(c, counts[0]) is None]
            # Outcomes stand behind what was counted before them.
            self.options["metric"] = next(iter((*parts[::-1], *others)), "COLUMN")
        metric = self.options.setdefault("metric", self.roles.get("metric", "COLUMN"))
        odd = sample.no_part(metric, counts[0]) if metric in sample.numbers else None
        if odd is not None:
            shown = f"{odd[0]:.12g} for {odd[1]:g} {counts[0]}"
            why = f"{metric} has {shown}, which is no sum of 0 and 1: {OTHER_SUMS}"
            self._ask("squares", why, ())

    def _ask_about_intervals(self) -> None:
        """Ask about rows that have the start and the stop of a time at risk."""
        sample, unit = self.events, self.roles.get("unit")
        pair = interval(sample.free)
        if not self.metric.plain or not pair or unit is None:
            return
        if not all(sample.table[name].type().is_numeric() for name in pair):
            return
        if sample.different(unit) == sample.rows:
            return
        why = f"{pair[0]} and {pair[1]} seem to be the start and the stop of a time at risk"
        self._ask("follow_up", why, [",".join(pair)])
        self.options.setdefault("metric", self.roles.get("metric", "COLUMN"))

    def _ask_about_durations(self) -> None:
        """Ask about a flag beside the time until the event or the end of the follow-up."""
        metric = self.roles.get("metric", "")
        if self.metric.value is not None or plain(metric) not in EVENTS or self.unclear:
            return
        columns = [c for c in self.events.table.columns if c not in self.roles.values()]
        times = [c for c in columns if plain(c) in DURATIONS and c in self.events.numbers]
        if times:
            why = (
                f"{times[0]} seems to be the time until {metric}, or until the follow-up ended: "
                f"name the metric alone to compare how many have {metric} however long they were "
                f"followed, or give follow_up={times[0]!r} (--follow-up {times[0]}) for events per "
                "time"
            )
            # Events are often written as 2, and what did not happen as 1.
            codes = sorted(self.events.kinds(metric))
            self._ask("metric", why, [f"{metric}=2" if codes == ["1", "2"] else metric])

    def _ask_about_blanks(self) -> None:
        """Ask what a unit without a value counts as, where no other has the 0 that is usual."""
        sample, unit = self.events, self.roles.get("unit", self.options.get("unit"))
        metric = self.roles.get("metric", self.options.get("metric"))
        stated = self.metric.missing is not None or self.metric.window is not None
        if stated or self.asked.design is not None or not (self.alone and self.metric.plain):
            return
        if metric not in sample.numbers or "count" in self.options or self.asked.log.count:
            return
        if unit is not None and sample.different(unit) < sample.rows:
            return
        blanks = sample.odd_blanks(metric)
        if blanks:
            rows = "1 row has" if blanks == 1 else f"{blanks:,} rows have"
            self.unclear.append(
                f"{rows} no {metric}, and no other has 0: say that these outcomes are not known "
                'and do not count (missing="exclude", --missing exclude), or that nothing happened '
                "(missing=0, --missing 0)"
            )
            self.options["missing"] = "exclude"

    def _wholes(self) -> list[str]:
        """The columns whose entries seem to be groups of units that were assigned as a whole."""
        sample, unit = self.events, self.roles.get("unit", self.options.get("unit"))
        arm = self.roles.get("arm", self.options.get("arm"))
        by_row, columns = self.asked.log.row_is_unit, sample.table.columns
        known = self.alone and (by_row or unit in columns) and arm in columns
        if not known or self.asked.assigned.cluster or self._test:
            return []
        sample.taken.add(str(unit))
        units = sample.rows if by_row else sample.different(str(unit))
        wholes = self._of_one_arm(str(arm), units)
        if wholes and self.unclear and self.metric.outcome is None:
            self.unclear.append(f"all units of one {wholes[0]} have the same arm")
            self.options["cluster"] = wholes[0]
        return wholes
