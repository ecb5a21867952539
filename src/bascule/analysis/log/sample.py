"""Sample the first rows of a log to find out the contents and roles of its columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log import naming
from bascule.analysis.log.numbers import FALSE_WORDS, NUMBER, SEPARATED, TRUE_WORDS, unsigned
from bascule.analysis.log.reading import Question
from bascule.analysis.log.times import DATE, LATEST_DAY, moment, times_of
from bascule.analysis.source.places import BLANK_TEXTS, Record, run
from bascule.core.errors import InputError, invalid

SAMPLE = 20_000
"""Maximum number of first rows that are sampled."""

LONGEST_NUMBER = 30
"""Maximum length of a number, with its separators and signs."""

MOSTLY = 0.5
"""Share that counts as most of the entries or values, such as those that are numbers."""

FEWEST_GROUPS = 3
"""Minimum number of groups per arm, if each group has a single arm, to rule out a coincidence."""


ZERO = r"^[^0-9.,]*[0.,]*0[0.,]*[^0-9.,]*$"
"""Pattern of text that is a zero, with or without a currency sign."""

NEARLY_ALL = 0.8
"""Minimum share of the combinations of a day and an arm that have a row, if rows are sums."""

MOST_ODD = 0.1
"""Maximum share of exceptions in a column whose entries otherwise correspond to the arms."""

MOST_BY_CHANCE = 4
"""Counts that rise in every arm for at least this many days are taken for running totals."""


def rise(arms: Collection[Sequence[float]]) -> bool:
    """Whether the counts of all arms rise from day to day, for too many days to be a coincidence.

    >>> rise([[10, 20, 30, 40], [11, 19, 31, 42]]), rise([[10, 20, 30, 40], [11, 19, 18, 42]])
    (True, False)
    """
    return len(arms) > 1 and all(
        len(places) >= MOST_BY_CHANCE and all(a < b for a, b in pairwise(places)) for places in arms
    )


@dataclass
class ColumnSample:
    """The first rows of a table, and the contents of its columns; `taken` ones can get no role."""

    table: Any
    taken: set[str] = field(default_factory=set)

    @property
    def rows(self) -> int:
        """Number of rows, up to the size of the sample."""
        return int(self._profile["rows"])

    @cached_property
    def _first(self) -> Any:
        return self.table.limit(SAMPLE)

    @cached_property
    def _profile(self) -> Record:
        """Basic statistics of all columns in one query: rows, distinct entries, numbers in text."""
        import ibis

        first = self._first
        parts: dict[str, Any] = {"rows": first.count()}
        for place, name in enumerate(self.table.columns):
            raw = first[name]
            if raw.type().is_string() or raw.type().is_integer() or raw.type().is_boolean():
                parts[f"different{place}"] = raw.nunique()
            if raw.type().is_string():
                word = raw.strip().lower()
                number = unsigned(word).re_search("|".join((NUMBER, *SEPARATED.values())))
                # Matching patterns in long ids would take a tenth of the time of a small analysis.
                number = ibis.ifelse(word.length() <= LONGEST_NUMBER, number, False)
                # A single letter may be anything, such as a sex.
                words = [word for word in (*TRUE_WORDS, *FALSE_WORDS) if len(word) > 1]
                number = number | word.isin(words)
                present = word.notnull() & ~word.isin(BLANK_TEXTS)
                parts |= {
                    f"numbers{place}": number.sum(where=present),
                    f"there{place}": present.sum(),
                    f"objects{place}": word.startswith("{").sum(where=present),
                }
        return run(first.agg(**parts))[0]

    @cached_property
    def nested(self) -> set[str]:
        """The columns whose entries have fields: structs, maps, lists of structs, JSON."""
        found = set()
        for place, name in enumerate(self.table.columns):
            kind = self.table[name].type()
            objects, there = (self._profile.get(f"{k}{place}") or 0 for k in ("objects", "there"))
            is_plain_list = kind.is_array() and not kind.value_type.is_nested()
            has_fields = (kind.is_nested() and not is_plain_list) or kind.is_json()
            if has_fields or objects > MOSTLY * there:
                found.add(name)
        return found

    @property
    def free(self) -> list[str]:
        """The columns that have no role yet."""
        return [name for name in self.table.columns if name not in self.taken]

    @cached_property
    def row_numbers(self) -> list[str]:
        """The columns that look like row numbers.

        They have a usual name for that, or none in a table whose other columns have names.
        """
        names = list(self.table.columns)
        bare = [name for name in names if re.fullmatch(naming.NO_NAME, name)]
        return [c for c in names if naming.plain(c) in naming.ROW_NUMBERS] + (
            bare if bare != names else []
        )

    def different(self, name: str, within: str | None = None) -> int:
        """Return the number of distinct entries of a column.

        If `within` is a column, return the maximum of this number over the entries of `within`.
        """
        key = f"different{self.table.columns.index(name)}"
        if within is None and key in self._profile:
            return int(self._profile[key])
        first = self._first
        groups = first if within is None else first.group_by(within)
        rows = run(groups.agg(n=first[name].nunique()))
        return max((int(row["n"]) for row in rows), default=0)

    def groups(self, columns: list[str]) -> int:
        """Return the number of distinct combinations of entries of some columns."""
        distinct = self._first.select(*columns).drop_null().distinct()
        return int(run(distinct.agg(n=distinct.count()))[0]["n"])

    def unlike(self, names: list[str]) -> list[str]:
        """Return the columns, except those that only number or rename the entries of another."""
        kept: list[str] = []
        for name in sorted(names, key=lambda c: not naming.plain(c).endswith(("name", "label"))):
            counts = ((self.different(name), self.groups([name, other])) for other in kept)
            if not any(pairs == own for own, pairs in counts):
                kept.append(name)
        return [name for name in names if name in kept]

    def is_assigned(self, name: str, arm: str, limit: float) -> bool:
        """Whether a column has at most `limit` distinct entries, each of them in one arm only.

        At least two arms must have `FEWEST_GROUPS` entries.
        """
        first = self._first.filter(self._first[name].notnull())
        entries = first.group_by(entry=first[name]).agg(
            arms=first[arm].nunique(), arm=first[arm].min()
        )
        by_arm = run(entries.group_by("arm").agg(groups=entries.count(), arms=entries.arms.max()))
        groups = [row["groups"] for row in by_arm]
        alike = all(row["arms"] == 1 for row in by_arm)
        return alike and sum(groups) <= limit and sum(n >= FEWEST_GROUPS for n in groups) > 1

    def renames(self, name: str, other: str) -> bool:
        """Whether the entries of two columns correspond to each other, and there are several."""
        own = self.different(name)
        return own == self.different(other) > 1 and own == self.groups([name, other])

    def is_category(self, name: str) -> bool:
        """Whether a column has few entries with many rows each, so that they are categories."""
        return self.different(name) <= naming.MOST_KINDS and self.rows > 50 * self.different(name)

    def disagreement(self, name: str, arm: str) -> str | None:
        """Describe the exceptions in a column whose entries nearly always correspond to the arms.

        None if it always agrees, or does not go with the arm at all.
        """
        table = self.table
        counts = table.group_by(arm=table[arm], entry=table[name]).agg(rows=table.count())
        by_arm: dict[str, list[tuple[int, str]]] = {}
        for row in run(counts):
            if row["arm"] is not None and row["entry"] is not None:
                by_arm.setdefault(row["arm"], []).append((row["rows"], row["entry"]))
        usually = {name: max(entries) for name, entries in by_arm.items()}
        rows = sum(n for entries in by_arm.values() for n, _ in entries)
        odd = rows - sum(n for n, _ in usually.values())
        distinct = len({entry for _, entry in usually.values()}) == len(usually) > 1
        if not (distinct and 0 < odd < MOST_ODD * rows):
            return None
        pairs = ", ".join(f"{name} with {entry}" for name, (_, entry) in sorted(usually.items()))
        return f"{name} goes with the arm ({pairs}), but {odd:,} of {rows:,} rows have another one"

    def odd_blanks(self, name: str) -> tuple[int, int]:
        """Return the number of blank rows of a column (0 if it has zeros), and of all rows."""
        table, raw = self.table, self.table[name]
        if raw.type().is_boolean() or raw.type().is_numeric():
            value = raw.cast("int8") if raw.type().is_boolean() else raw
            # Quick for files with statistics; in DuckDB the maximum is NaN if any value is NaN.
            parts = {"rows": table.count(), "there": value.count(), "high": value.max()}
            (row,) = run(table.agg(**parts))
            if row["there"] == row["rows"] and row["high"] == row["high"]:
                return 0, row["rows"]
            value = value.cast("float64").nullif(float("nan"))
            blank, zero = value.isnull(), value == 0.0
        else:
            word = raw.cast("string").strip().lower()
            blank = word.isnull() | word.isin(BLANK_TEXTS)
            zero = word.isin(FALSE_WORDS) | word.re_search(ZERO)
        (row,) = run(table.agg(rows=table.count(), blank=blank.sum(), zeros=zero.sum()))
        return 0 if row["zeros"] else int(row["blank"] or 0), row["rows"]

    def matched(self, name: str, others: Any) -> float:
        """Return the share of sampled rows whose entry also occurs in a column of another table."""
        mine = self._first.select(entry=self._first[name].cast("string"))
        known = others.name("entry").as_table()
        both = mine.semi_join(known.select(entry=known.entry.cast("string")), "entry")
        return float(run(both.agg(rows=both.count()))[0]["rows"]) / max(self.rows, 1)

    def without(self, arm: str, unit: str) -> float:
        """Return the share of rows that lack an arm although their unit has one in another row."""
        table = self.table
        (row,) = run(table.agg(rows=table.count(), armed=table[arm].count()))
        if row["armed"] in (0, row["rows"]):
            return 0.0
        armed = table.filter(table[arm].notnull()).select(unit).distinct()
        unarmed = table.filter(table[arm].isnull()).select(unit).semi_join(armed, unit)
        return float(run(unarmed.agg(rows=unarmed.count()))[0]["rows"]) / float(row["rows"])

    def never_falls(self, count: str, time: str, groups: Sequence[str]) -> bool:
        """Whether a count never falls over time within a group; a running total never does."""
        first = self._first.mutate(now=self._first[count].cast("float64"))
        before = first.now.lag().over(group_by=list(groups), order_by=time)
        steps = first.select(fallen=first.now < before)
        return not run(steps.agg(fallen=steps.fallen.sum()))[0]["fallen"]

    def is_grid(self, arm: str, time: str) -> bool:
        """Whether nearly every arm and time has exactly one row, as in a table of sums."""
        rows, times = self.rows, self.different(time)
        is_full = rows > NEARLY_ALL * times * self.different(arm)
        return is_full and times > 1 and rows == self.groups([arm, time])

    def no_part(self, name: str, total: str) -> tuple[float, float] | None:
        """Return the two numbers of a row in which `name` cannot be a part of the count in `total`.

        None if all parts are whole numbers from 0 to the count, or if a column is not numeric.
        """
        first = self._first
        if not all(self.table[column].type().is_numeric() for column in (name, total)):
            return None
        part, count = (first[column].cast("float64") for column in (name, total))
        odd = (part < 0.0) | (part > count) | (part != part.floor())
        rows = run(first.filter(odd).select(part=part, count=count).limit(1))
        return (rows[0]["part"], rows[0]["count"]) if rows else None

    def counts_rise(self, count: str, arm: str, time: str) -> bool:
        """Whether the counts of all arms rise over time, as running totals do."""
        first = self._first
        if not first[count].type().is_numeric():
            return False
        try:
            day = moment(first, times_of(first, time, None)).date()
        except InputError:
            return False
        rows = first.group_by(arm=first[arm], day=day).agg(units=first[count].sum())
        by_arm: dict[str, list[float]] = {}
        for row in run(rows.order_by("day")):
            by_arm.setdefault(row["arm"], []).append(row["units"] or 0.0)
        return rise(by_arm.values())

    @cached_property
    def numbers(self) -> list[str]:
        """The numeric columns, and text columns whose entries are mostly numbers or yes and no.

        Identities and row numbers are not among them.
        """
        columns = []
        for place, name in enumerate(self.table.columns):
            kind = self.table[name].type()
            if re.search(naming.IDENTITY, naming.plain(name)) or name in self.row_numbers:
                continue
            if kind.is_numeric() or kind.is_boolean():
                columns.append(name)
            elif kind.is_string():
                numbers, present = (
                    self._profile[f"{key}{place}"] or 0 for key in ("numbers", "there")
                )
                columns += [name] if numbers > MOSTLY * present else []
        return columns

    def has_dates(self, name: str) -> bool:
        """Whether a column has times, or is text that looks like dates or is named like a time."""
        kind = self.table[name].type()
        if kind.is_timestamp() or kind.is_date():
            return True
        is_named = re.search(naming.DATES, naming.plain(name)) is not None
        return bool(kind.is_string()) and (is_named or self._is_date(name))

    def _is_date(self, name: str) -> bool:
        """Whether most entries of a text column begin with a date."""
        text = self._first[name].strip()
        dates = text.re_search(DATE).sum(where=text.notnull())
        (row,) = run(self._first.agg(dates=dates, there=text.count()))
        return bool((row["dates"] or 0) > MOSTLY * row["there"])

    def no_time(self, name: str) -> str | None:
        """Return an entry of a text column in which no entry is a time; None for other columns."""
        first = self._first
        if not first[name].type().is_string():
            return None
        try:
            times = times_of(first, name, None)
        except InputError:
            return None
        (row,) = run(first.agg(times=moment(first, times).count(), entry=first[name].max()))
        return None if row["times"] else row["entry"]

    def kinds(self, name: str) -> list[str]:
        """Return the distinct entries of a column, the most frequent first."""
        first = self._first
        entries = first.group_by(entry=first[name].cast("string").strip()).agg(rows=first.count())
        rows = run(entries.order_by(entries.rows.desc(), entries.entry).limit(naming.MOST_KINDS))
        return [row["entry"] for row in rows if row["entry"]]

    def small_numbers(self, name: str) -> tuple[float, float] | None:
        """Return the range of a numeric column that could be numbers of days; None for others."""
        if not self.table[name].type().is_numeric():
            return None
        value = self._first[name].cast("float64").nullif(float("nan"))
        (row,) = run(self._first.agg(low=value.min(), high=value.max()))
        if row["low"] is None or max(abs(row["low"]), abs(row["high"])) > LATEST_DAY:
            return None
        return row["low"], row["high"]

    def metric(self, name: str) -> str:
        """Return the column of a named metric; raise an error if it is, or has, kinds of events."""
        columns = list(self.table.columns)
        texts = [c for c in columns if c not in self.numbers]
        texts = [c for c in texts if self.table[c].type().is_string()]
        if not any(naming.plain(c) == naming.plain(name) for c in columns):
            for text in texts:
                if name in self.kinds(text):
                    raise invalid(
                        f"metric: there is no column {name!r}, but {text} has such rows: to "
                        f"count them, give the metric '{text}={name}'",
                    )
        meant = naming.named("metric", name, columns)
        if meant in texts and re.search(naming.KINDS, naming.plain(meant)):
            kinds = [f"{meant}={kind}" for kind in self.kinds(meant)]
            raise invalid(
                f"metric: {meant} has kinds of events and no numbers: to count those of one kind, "
                f"give the metric {naming.listed([repr(kind) for kind in kinds], 'or')}",
            )
        return meant


class Roles:
    """The columns with a role, the open questions, and the options that would answer them.

    `events` and `arms` are the tables with the values and with the arms, which may be the same.
    `per` is the column of the denominator, or "row" if rows are counted; None if it still has to be
    looked up. `test` is the column that names the test in a log of many tests.
    """

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
        taken = set(naming.other_roles(events if self.alone else assignments, asked, metric, per))
        self.events = ColumnSample(events, set(taken))
        self.arms = self.events if self.alone else ColumnSample(assignments, set(taken))
        for sample in (self.events, self.arms):
            sample.taken |= sample.nested
        self.covariate = naming.column(self.arms.table, "covariate", asked.covariate)
        # Rows that count units, or are units, need no column of identities.
        self.no_unit = asked.log.row_is_unit or asked.log.count is not None
        self.columns: dict[str, str] = {}
        self.assigned_unit: str | None = None
        self.unclear: list[str] = []
        self.options: dict[str, Any] = {}
        self.notes: list[str] = []

    def take(self, role: str, name: str, sample: ColumnSample) -> None:
        """Use a column for a role."""
        self.columns[role] = name
        sample.taken.add(name)

    def ask(self, role: str, reason: str, example: Any = "COLUMN") -> None:
        """Leave a role open; `example` is its value in the call to copy."""
        self.unclear.append(reason)
        self.options[role] = example

    def question(self) -> Question:
        """Return the question about everything unclear."""
        asked, options = self.asked, dict(self.options)
        if asked.assignments is not None:
            options["assignments"] = asked.assignments.where.name
        if asked.log.query is not None:
            options.setdefault("query", asked.log.query)
        return Question(asked.log.where.name, self.columns, self.unclear, **options)

    def choose(
        self,
        role: str,
        sample: ColumnSample,
        candidates: Iterable[list[str]],
        *,
        finest: bool = False,
    ) -> bool:
        """Take the only candidate of the first nonempty group; ask if that group has several.

        With `finest`, the example in the question is the candidate with the most distinct entries.
        """
        for names in candidates:
            if len(names) == 1:
                self.take(role, names[0], sample)
                return True
            if names:
                example = max(names, key=sample.different) if finest else names[0]
                self.ask(role, f"{role} could be {naming.listed(names, 'or')}", example)
                return True
        return False

    def meant(self, role: str) -> str | None:
        """Return the column of a role, or the example for it in the call to copy."""
        return self.columns.get(role, self.options.get(role))

    @property
    def has_unit(self) -> bool:
        """Whether a unit column was found or is asked for."""
        return self.meant("unit") is not None

    @property
    def tests(self) -> str | None:
        """The column that names the test in a log of many tests, as given or as recognised."""
        return self.test or self.options.get("test")
