"""Find the columns of a log by their names and contents, without guessing.

A column that was not named is used if no other could be meant. Everything unclear is asked at
once, with a call to copy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log import nested, shapes
from bascule.analysis.log.naming import (
    ARM_ENDINGS,
    EVENT_KINDS,
    GROUPS,
    IDENTITY,
    KINDS,
    PERIODS,
    PROBABILITIES,
    SQUARES,
    TESTS,
    TREATED,
    interval,
    listed,
    named,
    plain,
    usual,
)
from bascule.analysis.log.reading import EVERY_ROW, Question, Reading
from bascule.analysis.log.sample import MOSTLY, ColumnSample, Roles
from bascule.analysis.log.times import FORMAT_HINT
from bascule.analysis.source.places import is_opened_here, queried

DAY_NAMES = ("day", "date")
"""Names of time columns whose small numbers are days of arrival. In other columns, small numbers
may be weeks, or the time since a unit arrived."""

MOST_NUMBERED = 5
"""Maximum number of distinct numbers in a column of arms. For a column with a usual name of arms it
is a tenth of the number of rows, if that is more."""

LIKELY = r"^(converted|conversion|revenue|response|retention|purchase|spend|sales|outcome|visit)"
"""Pattern of the beginnings of common names of outcomes."""


def recognised(
    events: Any,
    assignments: Any,
    asked: Asked,
    metric: LogMetric,
    *,
    per: str | None = None,
    test: str | None = None,
) -> Reading:
    """Return the columns of a log; raise one `Question` about all that are unclear.

    `per` is the column of the denominator, or "row" if rows are counted; None if it still has to be
    looked up. `test` is the column that names the test in a log of many tests.
    """
    roles, value = Roles(events, assignments, asked, metric, per, test), metric.value
    if shapes.ask_about_wide(roles):
        raise Question(asked.log.where.name, {}, roles.unclear, **roles.options)
    for role, sample in (("unit", roles.events), ("arm", roles.arms), ("time", roles.events)):
        name = getattr(asked, role)
        if name is not None:
            roles.take(role, named(role, name, list(sample.table.columns)), sample)
    if value is not None:
        roles.take("metric", roles.events.metric(value), roles.events)
    shapes.ask_about_tests(roles)
    if asked.unit is None and not roles.no_unit:
        _find_unit(roles)
    if asked.arm is None:
        _find_arm(roles)
    _ask_about_units(roles)
    if asked.time is None:
        _find_time(roles)
    if value is None:
        candidates = _find_value(roles)
    else:
        free = [name for name in roles.events.free if name != roles.covariate]
        candidates = tuple(name for name in roles.events.numbers if name in free)
    shapes.ask_about_sums(roles)
    shapes.ask_about_stream(roles)
    shapes.ask_about_probabilities(roles)
    shapes.refuse_survival_data(roles)
    shapes.ask_about_blanks(roles)
    wholes = _wholes(roles)
    if roles.unclear:
        shapes.ask_about_writing(roles)
        raise _question_of_fields(roles) or roles.question()
    return Reading(
        unit=roles.columns.get("unit"),
        arm=roles.columns["arm"],
        time=roles.columns.get("time"),
        value=roles.columns.get("metric"),
        assignments_unit=roles.assigned_unit,
        other_values=candidates,
        notes=tuple(roles.notes),
        wholes=tuple(wholes),
        mixed=tuple(_mixed(roles)),
    )


def _find_unit(roles: Roles) -> None:
    sample = roles.events
    if not roles.alone and _find_unit_of_both(roles):
        return
    free = [c for c in sample.free if not re.search(TESTS, plain(c)) and not usual("arm", [c])]
    identities = [c for c in free if re.search(IDENTITY, plain(c))]
    # A column that identifies categories, or groups of several rows, does not identify units.
    identities = [c for c in identities if not (sample.is_category(c) or _is_group(roles, c))]
    names = [usual("unit", free), [c for c in free if plain(c) == "id"]]
    # If rows are sums of units in many tests, columns of IDs name what was shown, such as a page.
    if not (roles.tests and shapes.counts_of_units(roles)):
        names.append(identities)
    if roles.choose("unit", sample, names, finest=True):
        return
    texts = [c for c in free if c not in (*sample.numbers, *sample.row_numbers)]
    texts = [c for c in texts if sample.table[c].type().is_string() and not _is_time(roles, c)]
    likely = [c for c in texts if sample.different(c) > MOSTLY * sample.rows > 50]
    if not roles.alone or (likely and not shapes.counts_of_units(roles)):
        columns = likely or free
        question = f"unit could be {listed(columns, 'or')}"
        question += f" ({EVERY_ROW})" * roles.alone
        roles.ask("unit", question, next(iter(columns), "COLUMN"))


def _find_unit_of_both(roles: Roles) -> bool:
    """Take the identity column whose entries match between both tables; return whether one exists.

    Columns with the name of a unit are tried first, then other identities, and then `id`, which
    numbers messages or orders in many tables. Last come text columns of any name. Of the columns
    whose entries match, only the best matches could be meant.
    """
    sample, beside = roles.events, roles.arms
    stated = roles.asked.assignments.unit if roles.asked.assignments is not None else None
    theirs = [named("unit", stated, list(beside.table.columns))] if stated else _identities(beside)
    tiers: list[dict[str, str]] = [{}, {}, {}, {}]
    identities = _identities(sample)
    for name in identities:
        same = [c for c in theirs if plain(c) == plain(name)] or theirs[: bool(stated)]
        others = [c for c in theirs if usual("unit", [c])] if usual("unit", [name]) else []
        rank = 0 if usual("unit", [name]) else 2 if plain(name) == "id" else 1
        if same or len(others) == 1:
            tiers[rank][name] = (same or others)[0]
    texts = [c for c in sample.free if sample.table[c].type().is_string() and c not in identities]
    if their_unit := usual("unit", theirs) or theirs[: bool(stated)]:
        tiers[-1] = dict.fromkeys(texts, their_unit[0])
    for tier in tiers:
        matched = {c: sample.matched(c, beside.table[other]) for c, other in tier.items()}
        most = max(matched.values(), default=0.0)
        names = [c for c in tier if matched[c] > 0.0 and matched[c] >= MOSTLY * most]
        if names:
            roles.choose("unit", sample, [names], finest=True)
            roles.assigned_unit = tier[str(roles.meant("unit"))]
            return True
    return False


def _identities(sample: ColumnSample) -> list[str]:
    """Return the columns of a table named like a unit or another identity."""
    free = [c for c in sample.free if not re.search(TESTS, plain(c)) and not usual("arm", [c])]
    kinds = {c: sample.table[c].type() for c in free}
    free = [c for c in free if kinds[c].is_string() or kinds[c].is_integer()]
    return [*usual("unit", free)] + [
        c for c in free if re.search(IDENTITY, plain(c)) and not usual("unit", [c])
    ]


def _is_group(roles: Roles, name: str) -> bool:
    """Whether a column is named like groups, such as households, and its entries repeat."""
    sample = roles.events
    return re.search(GROUPS, plain(name)) is not None and sample.different(name) < sample.rows


def _is_time(roles: Roles, name: str) -> bool:
    return bool(usual("time", [name])) or roles.events.has_dates(name)


def _ask_about_units(roles: Roles) -> None:
    """Ask whether rows with the same entry of a column, which all have the same arm, are one unit.

    If there is no such column, every row is a unit, and a note says so.
    """
    sample, arm = roles.events, roles.meant("arm")
    if roles.has_unit or roles.no_unit or not roles.alone:
        return
    groups: list[str] = []
    if arm in sample.table.columns and not roles.tests and not shapes.counts_of_units(roles):
        groups = _of_one_arm(roles, str(arm), sample.rows)
    if not groups:
        roles.notes.append(
            "no column is known to have identities, so every row is taken for a unit"
        )
        return
    finest = max(groups, key=sample.different)
    question = (
        f"unit could be {listed(groups, 'or')}, all of whose rows have the same arm ({EVERY_ROW}, "
        f"and if such groups were assigned as a whole also cluster={finest!r}, --cluster {finest})"
    )
    sample.taken.update(groups)
    if any(_is_time(roles, c) for c in sample.free) or not _is_group(roles, finest):
        roles.ask("unit", question, finest)
        return
    # Without times, the rows of a household or a school are its members.
    roles.ask("row_is_unit", question, True)
    roles.options["cluster"] = finest


def _of_one_arm(roles: Roles, arm: str, units: int) -> list[str]:
    """Return the columns whose values occur in one arm each, and are fewer than the units.

    A column may have at most half as many values as there are units, or 95 % as many if it is named
    like a group.
    """
    sample = roles.events
    candidates = [c for c in sample.free if c != arm and c not in sample.row_numbers]
    candidates = [c for c in candidates if not _is_time(roles, c) and not usual("value", [c])]
    candidates = [c for c in candidates if not sample.table[c].type().is_floating()]
    limits = {c: 0.95 if re.search(GROUPS, plain(c)) else 0.5 for c in candidates}
    return [c for c in candidates if sample.is_assigned(c, arm, limits[c] * units)]


def _find_arm(roles: Roles) -> None:
    sample = roles.arms
    if not roles.alone and "unit" in roles.columns:
        sample.taken.add(roles.columns["unit"])
    columns = sample.free
    likely = [c for c in columns if not _measures(roles, c)]
    groups = [sample.unlike(usual("arm", likely))]
    # A column with a single entry may be anything, unless it is named like an arm.
    likely = [c for c in likely if sample.different(c) > 1]
    groups.append(usual("perhaps an arm", likely))
    groups.append([c for c in likely if re.search(ARM_ENDINGS, plain(c))])
    flags = [c for c in columns if re.search(TREATED, plain(c))]
    flags = [c for c in flags if not re.search(PERIODS, plain(c))]
    groups.append([c for c in flags if _has_few(roles, c)])
    if roles.choose("arm", sample, groups):
        return
    free = [c for c in columns if c not in (roles.tests, *sample.row_numbers)]
    free = [c for c in free if not re.search(PROBABILITIES, plain(c))]
    candidates = [c for c in free if not usual("time", [c]) and _has_few(roles, c)]
    candidates = [c for c in candidates if not usual("value", [c])] or candidates
    candidates = [c for c in candidates if not re.search(PERIODS, plain(c))]
    candidates = [c for c in candidates if not re.search(EVENT_KINDS, plain(c))] or candidates
    candidates = sorted(sample.unlike(candidates), key=lambda c: c in sample.numbers)
    if roles.tests is not None:
        # Each test has its own arms, so the arm column has more entries than others.
        candidates = [c for c in candidates if c not in sample.numbers] or candidates
        candidates = sorted(candidates, key=sample.different, reverse=True)
    plausible = [
        c for c in candidates if not re.search(KINDS, plain(c)) and not usual("value", [c])
    ]
    if any(not sample.table[c].type().is_floating() for c in plausible):
        roles.ask("arm", f"arm could be {listed(candidates, 'or')}", candidates[0])
        return
    every = listed(list(sample.table.columns), "and")
    roles.unclear.append(
        f"no column looks like the arm (of {every}), and a row must be about one arm: "
        f"{shapes.no_arm_advice(roles)}"
    )


def _measures(roles: Roles, name: str) -> bool:
    """Whether a column has too many different numbers to be the arms."""
    limit = max(MOST_NUMBERED, roles.arms.rows / 10)
    return name in roles.arms.numbers and roles.arms.different(name, roles.tests) > limit


def _has_few(roles: Roles, name: str) -> bool:
    """Whether a column has few enough entries, in each test, to be the arms."""
    limit = MOST_NUMBERED if roles.arms.table[name].type().is_numeric() else 10
    return 2 <= roles.arms.different(name, roles.tests) <= limit


def _find_time(roles: Roles) -> None:
    sample, likely = roles.events, []
    for name in usual("time", sample.free) or usual("perhaps a time", sample.free):
        if sample.table[name].type().is_time():
            continue
        if (odd := sample.no_time(name)) is not None:
            roles.notes.append(
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
        roles.notes.append(
            f"{name} has numbers from {low:g} to {high:g} and is not used: if they are the "
            f"days on which units arrived, name it (time={name!r}, --time {name})"
        )
        sample.taken.add(name)
    if not roles.choose("time", sample, [likely]):
        dates = [c for c in sample.free if sample.has_dates(c)]
        roles.notes += [
            f"{name} has times and is not used: if units arrived then, name it "
            f"(time={name!r}, --time {name!r})"
            for name in dates
        ]


def _find_value(roles: Roles) -> tuple[str, ...]:
    sample = roles.events
    rest = {*interval(sample.free), roles.covariate}
    numbers = [c for c in sample.numbers if c in sample.free and c not in rest]
    numbers = [c for c in numbers if not re.search(PROBABILITIES, plain(c))]
    numbers = [c for c in numbers if not usual("time", [c])]
    unit = roles.columns.get("unit")
    if roles.alone and (unit is None or sample.different(unit) == sample.rows > 1):
        # A column with the same number in each row is not an outcome.
        numbers = [c for c in numbers if sample.different(c) > 1]
    if not (roles.has_unit or roles.no_unit):
        counts = shapes.counts_of_units(roles)
        numbers = [c for c in numbers if c not in counts]
        numbers = [c for c in numbers if not (counts and re.search(SQUARES, plain(c)))]
    telling = [c for c in numbers if not _says_nothing(roles, c)] if len(numbers) > 1 else []
    every, numbers = numbers, telling or numbers
    texts = [c for c in usual("value", sample.free) if c not in sample.numbers]
    likely = [*texts, *numbers]
    if usual("value", numbers):
        # Columns with less common names of outcomes could be meant as well.
        tiers = ("value", "perhaps a value")
        likely = [c for c in numbers if any(usual(tier, [c]) for tier in tiers)]
    kinds = [c for c in sample.free if c not in numbers and re.search(KINDS, plain(c))]
    if kinds and not numbers:
        names = [f"{kinds[0]}={kind}" for kind in sample.kinds(kinds[0])]
        # The most frequent kinds come first, and the event that a test is about is usually rare.
        roles.ask("metric", f"metric could be the events with {listed(names, 'or')}", names[-1])
    elif len(likely) == 1:
        roles.take("metric", likely[0], sample)
    elif likely:
        # Tables usually have outcomes after the columns that were known before the test.
        usually = [
            c for c in likely if usual("perhaps a value", [c]) or re.search(LIKELY, plain(c))
        ]
        example = _once_each(usually or likely)[-1]
        roles.ask("metric", f"metric could be {listed(likely, 'or')}", example)
    elif roles.alone:
        columns = listed(list(sample.table.columns), "and")
        reason = f"no column looks like the metric (of {columns})"
        if not roles.has_unit or roles.meant("arm") is None:
            roles.ask("metric", reason)
        else:
            reason += (
                ": if outcomes are in another table, give that one as the log, and this one as its "
                "assignments"
            )
            roles.ask("log", reason, "OUTCOMES")
            roles.options.pop("test", None)
            roles.options["assignments"] = roles.asked.log.where.name
    return tuple(c for c in every if c not in roles.columns.values())


def _says_nothing(roles: Roles, name: str) -> bool:
    """Whether a column is constant, numbers the rows, or renames the arm or the period of a row."""
    sample, arm = roles.events, roles.meant("arm")
    entries, kind = sample.different(name), sample.table[name].type()
    if usual("value", [name]) or kind.is_floating():
        return entries == 1
    named_period = re.search(TREATED, plain(name)) and re.search(PERIODS, plain(name))
    numbers_rows = entries == sample.rows > MOST_NUMBERED and not roles.options.get("count")
    has_words = not kind.is_numeric() and arm in sample.table.columns
    renames = name == arm or (has_words and sample.renames(name, str(arm)))
    return entries == 1 or bool(named_period) or numbers_rows or renames


def _once_each(names: list[str]) -> list[str]:
    """Return the columns that count each unit once, by their names; all if there are none."""
    return [c for c in names if re.search("unique|distinct", plain(c))] or names


def _question_of_fields(roles: Roles) -> Question | None:
    """Return a question that proposes a query to turn fields of nested columns into columns.

    None if no role is open, or without such columns.
    """
    asked, sample = roles.asked, roles.events
    is_open = any(roles.meant(role) in (None, "COLUMN") for role in ("arm", "metric"))
    if not (is_open and roles.alone) or asked.log.query is not None or roles.test is not None:
        return None
    fields = nested.fields_of(sample) if is_opened_here(sample.table.get_backend()) else {}
    if not fields:
        return None
    known = [f"{column} has {listed(list(terms), 'and')}" for column, terms in fields.items()]
    unclear = [f"nested columns have fields, which a query reads: {'; '.join(known)}"]
    query = nested.query_of(fields)
    flat = replace(asked, log=replace(asked.log, query=query))
    options: dict[str, Any] = {}
    try:
        table = queried(sample.table, query, "bascule_fields")
        found = recognised(table, None, flat, roles.metric)
        by_role = zip(("unit", "arm", "time", "metric"), found.named, strict=True)
        columns = {role: column for role, column in by_role if column}
    except Question as question:
        columns, options = question.recognised, question.options
        unclear += question.unclear
    stated = {
        "unit": asked.unit,
        "arm": asked.arm,
        "time": asked.time,
        "metric": roles.metric.value,
    }
    options = {role: c for role, c in columns.items() if not stated[role]} | options
    options["query"] = query
    used = nested.query_of(fields, [str(value) for value in options.values()])
    options = {n: v.replace(query, used) if isinstance(v, str) else v for n, v in options.items()}
    return Question(asked.log.where.name, columns, unclear, **options)


def _wholes(roles: Roles) -> list[str]:
    """Return the columns whose entries seem to be groups that were assigned as a whole.

    Ask whether the first of them is the cluster if something else is unclear.
    """
    sample, unit, arm = roles.events, roles.meant("unit"), roles.meant("arm")
    by_row, columns = roles.asked.log.row_is_unit, sample.table.columns
    known = roles.alone and (by_row or unit in columns) and arm in columns
    if not known or roles.asked.assigned.cluster or roles.tests:
        return []
    sample.taken.add(str(unit))
    units = sample.rows if by_row else sample.different(str(unit))
    wholes = _of_one_arm(roles, str(arm), units)
    open_unit = roles.asked.unit is None and not by_row and _is_group(roles, "".join(wholes[:1]))
    if wholes and (roles.unclear or open_unit) and roles.metric.outcome is None:
        reason = f"all units of one {wholes[0]} have the same arm"
        named_unit = f" (if units were assigned singly, name the unit: unit={unit!r})"
        roles.ask("cluster", reason + named_unit * open_unit, wholes[0])
    return wholes


def _mixed(roles: Roles) -> list[str]:
    """Describe columns that agree with the arm in nearly all rows but disagree in some."""
    sample, arm = roles.events, roles.columns["arm"]
    if not roles.alone or roles.tests:
        return []
    texts = [c for c in sample.free if c not in sample.numbers and c not in sample.row_numbers]
    texts = [c for c in texts if not sample.table[c].type().is_nested()]
    alike = [c for c in texts if sample.different(c) == sample.different(arm)]
    return [words for c in alike if (words := sample.disagreement(c, arm))]
