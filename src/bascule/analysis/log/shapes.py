"""Rows of a log that are neither units nor events: sums, times at risk, several tests.

Nothing is guessed: each function adds a question to the roles of the columns. A table such as
`day, control, treatment` or `visitors_a, visitors_b, sales_a, sales_b` has all arms in one row;
a query turns it into one row per arm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bascule.analysis.log.naming import (
    COUNTS,
    DURATIONS,
    EVENTS,
    IDENTITY,
    METRICS,
    NUMBER_OF,
    OF_ARM,
    PROBABILITIES,
    SQUARES,
    TESTS,
    interval,
    listed,
    plain,
    quoted,
    usual,
)
from bascule.analysis.log.numbers import written_of
from bascule.analysis.log.reading import COUNTS_RISE, OTHER_SUMS, UNITS_OF_SUMS
from bascule.analysis.log.sample import ColumnSample, Roles
from bascule.analysis.log.times import times_of
from bascule.core.errors import InputError

ARMS = (
    *(("control", "treatment"), ("control", "test"), ("control", "variant"), ("ctrl", "trt")),
    *(("control", "experiment"), ("control", "exposed"), ("control", "treated"), ("c", "t")),
    *(("control", "variation"), ("original", "variation"), ("baseline", "variant")),
    *(("control", "variation_1", "variation_2"), ("control", "variation_1")),
    *(("control", "variant_1"), ("original", "variation_1")),
    *(("a", "b", "c"), ("a", "b"), ("old", "new")),
)
"""Words for arms in the names of columns, in groups of words that are used together."""

AVERAGES = ("mean", "avg", "average")
VARIANCES, DEVIATIONS = ("variance", "var"), ("std", "sd", "stdev", "deviation")

Stems = dict[str, str]
"""The columns of an arm, by the part of their names that is the same for all arms."""

IN_FILES = (
    "if every arm has a file of its own, give a pattern that all of them match, and take the name "
    "of the file for the arm"
)
IN_ASSIGNMENTS = (
    "if the arms of units are in another table, name it (assignments=FILE, --assignments FILE)"
)


def several(sample: ColumnSample, pattern: str) -> list[str]:
    """Return the columns without a role, with several entries, whose names match a pattern."""
    named = [c for c in sample.free if re.search(pattern, plain(c))]
    return [c for c in named if sample.different(c) > 1]


def ask_about_tests(roles: Roles) -> None:
    """Ask whether a column names one of several tests, or the metric of each row."""
    if roles.test is not None:
        return
    sample = roles.arms
    # A column called test may be the arm, unless another column is.
    arms = [roles.columns.get("arm"), *usual("arm", sample.free)]
    named = several(sample, TESTS)
    tests = [c for c in named if "_" in plain(c) or any(a not in (None, c) for a in arms)]
    if tests and not roles.alone:
        kinds = sample.kinds(tests[0])
        test = "'" + kinds[0].replace("'", "''") + "'"
        query = f"SELECT * FROM log WHERE {quoted(tests[0])} = {test}"  # nosec B608 - it is shown
        reason = f"{tests[0]} of the assignments seems to name one of several tests"
        roles.ask(
            "assignments_query", f"{reason} ({listed(kinds, 'and')}): take those of one", query
        )
        return
    if tests:
        roles.ask("test", f"{tests[0]} seems to name one of several tests", tests[0])
        return
    metrics = [c for c in several(roles.events, METRICS) if c not in roles.events.numbers]
    if metrics and roles.alone:
        kinds = roles.events.kinds(metrics[0])
        reason = f"{metrics[0]} seems to name the metric of each row ({listed(kinds, 'and')})"
        roles.ask("test", f"{reason}; each has to be analysed as a test of its own", metrics[0])


def no_arm_advice(roles: Roles) -> str:
    """Return advice if no column looks like the arm, and add its options to the call to copy."""
    place, words = roles.asked.log.source, "|".join({word for arms in ARMS for word in arms})
    if roles.has_unit:
        roles.options["assignments"] = "FILE"
        return IN_ASSIGNMENTS
    path = Path(str(place))
    word = re.compile(rf"(^|[_\-. ])({words})(?=$|[_\-. ])", re.I)
    stem, words_there = word.subn(r"\1*", path.stem)
    if not isinstance(place, (str, Path)) or path.suffix != ".csv" or words_there != 1:
        roles.options["arm"] = "COLUMN"
        return f"{IN_ASSIGNMENTS}; {IN_FILES} (--arm file)"
    roles.options |= {"log": str(path.with_name(f"{stem}{path.suffix}")), "arm": "file"}
    return IN_FILES


def counts_of_units(roles: Roles) -> list[str]:
    """Return the columns that seem to count the units of a row, if rows may be sums."""
    sample = roles.events
    names = {c: re.sub(NUMBER_OF, "", plain(c)) for c in sample.numbers}
    counts = [c for c in sample.numbers if names[c] in COUNTS and c not in roles.columns.values()]
    keys = [c for c in sample.table.columns if c not in sample.numbers]
    keys += [c for r, c in roles.columns.items() if r in ("arm", "time") and c not in keys]
    # Rows of single units share their day and arm with other rows; sums do not.
    distinct = counts and keys and sample.rows > 1 and sample.groups(keys) == sample.rows
    return counts if distinct else []


def ask_about_sums(roles: Roles) -> None:
    """Ask whether rows are sums, if no column has units and one seems to count units."""
    if roles.has_unit or roles.no_unit or not roles.alone:
        return
    sample, arm, time = roles.events, roles.columns.get("arm"), roles.columns.get("time")
    counts = counts_of_units(roles)
    if not counts:
        if arm and time and sample.is_grid(arm, time):
            reason = f"there is one row for each {arm} and {time}, so rows seem to be sums: "
            roles.ask("count", reason + UNITS_OF_SUMS)
            roles.options["squares"] = "COLUMN"
        return
    roles.ask("count", f"{counts[0]} seems to count the units of a row", counts[0])
    if arm and time and sample.counts_rise(counts[0], arm, time):
        roles.unclear.append(COUNTS_RISE)
        roles.options["cumulative"] = True
    if "metric" in roles.options:
        numbers = [c for c in sample.numbers if c in sample.free and c not in counts]
        plain_numbers = [c for c in numbers if sample.table[c].type().is_numeric()]
        parts = [c for c in plain_numbers if sample.no_part(c, counts[0]) is None]
        # Counts of unique events are preferred, and then the last column: tables usually have
        # outcomes after the counts that they are a part of.
        parts.sort(key=lambda c: re.search("unique|distinct", plain(c)) is not None)
        roles.options["metric"] = next(iter((*parts[::-1], *numbers)), "COLUMN")
    metric = roles.options.setdefault("metric", roles.columns.get("metric", "COLUMN"))
    odd = sample.no_part(metric, counts[0]) if metric in sample.numbers else None
    if odd is not None:
        shown = f"{odd[0]:.12g} for {odd[1]:g} {counts[0]}"
        squares = next((c for c in sample.free if re.search(SQUARES, plain(c))), None)
        found = OTHER_SUMS if squares is None else f"{squares} seems to have the sums of squares"
        reason = f"{metric} has {shown}, which is no sum of 0 and 1: {found}"
        roles.ask("squares", reason, squares or "COLUMN")


MANY_WITHOUT_ARM = 0.05
"""Minimum share of rows without an arm for a log that may mix exposures and events."""


def ask_about_stream(roles: Roles) -> None:
    """Ask whether to read a table twice if only some rows, the exposures, have the arm.

    If several columns could be the unit, take the first with entries that occur both in rows with
    an arm and in rows without an arm.
    """
    sample, log, arm = roles.events, roles.asked.log, roles.meant("arm")
    if not roles.alone or roles.tests or log.row_is_unit or arm not in sample.table.columns:
        return
    identities = [c for c in sample.free if usual("unit", [c]) or re.search(IDENTITY, plain(c))]
    names = [roles.meant("unit"), *(() if "unit" in roles.columns else identities)]
    names = [name for name in dict.fromkeys(names) if name in sample.table.columns]
    units = (c for c in names if sample.without(str(arm), str(c)) > MANY_WITHOUT_ARM)
    unit = next(units, None)
    if unit is None:
        return
    roles.alone = False
    roles.unclear.append(
        f"many rows have no {arm}, and their units have one in other rows: the log seems to have "
        "exposures and events in one table, of which the exposures are the assignments"
    )
    rows = "log" if log.query is None else f"({log.query})"
    query = f"SELECT * FROM {rows} WHERE {quoted(str(arm))} IS NOT NULL"  # nosec B608 - it is shown
    roles.options |= {"assignments": log.where.name, "assignments_query": query, "unit": unit}


def ask_about_probabilities(roles: Roles) -> None:
    """Ask whether a varying numeric column has the assignment probability of each unit's arm."""
    sample = roles.arms
    if roles.asked.assigned.probability is not None or roles.asked.log.count is not None:
        return
    named = [c for c in sample.free if re.search(PROBABILITIES, plain(c)) and c in sample.numbers]
    likely = [c for c in named if sample.different(c) > 1]
    arm = roles.meant("arm")
    if likely and roles.alone:
        reason = f"{likely[0]} seems to be the probability of the arm that a unit got"
        if arm in sample.table.columns and sample.different(str(arm)) > 2:
            roles.notes.append(
                f"{reason} and is not used: with more than two arms, the probability of each is "
                "needed (probability={ARM: COLUMN, ...}, --probability ARM=COLUMN,...)"
            )
            return
        roles.ask("probability", f"{reason}, which is needed where the split changed", likely[0])
    elif len(by_arm := _probabilities_of_arms(roles)) > 1:
        reason = f"{listed(list(by_arm.values()), 'and')} seem to be the probabilities of the arms"
        roles.ask("probability", f"{reason}, which are needed where the split changed", by_arm)
    else:
        return
    roles.options.setdefault("metric", roles.columns.get("metric", "COLUMN"))


def _probabilities_of_arms(roles: Roles) -> dict[str, str]:
    """Return the columns that are named like the probability of each arm, if these vary."""
    sample, arm = roles.arms, roles.meant("arm")
    names = {match[2]: c for c in sample.numbers if (match := re.search(OF_ARM, plain(c)))}
    if not names or not roles.alone or arm not in sample.table.columns:
        return {}
    found = {entry: names.get(plain(entry)) for entry in sample.kinds(str(arm))}
    columns = {entry: c for entry, c in found.items() if c is not None}
    varies = any(sample.different(c) > 1 for c in columns.values())
    return columns if varies and len(columns) == len(found) else {}


SURVIVAL = (
    "times until an event are not analysed here, since units are followed for different times: use "
    "a log-rank test or a Cox model (lifelines in Python, survival in R), or compare the share "
    "with an event within a period that every unit was followed for, in a table with one row per "
    "unit"
)


def refuse_survival_data(roles: Roles) -> None:
    """Raise an error for rows with the start and stop of a time at risk, or with survival times."""
    sample, unit = roles.events, roles.columns.get("unit")
    pair = interval(sample.free)
    numeric = all(sample.table[name].type().is_numeric() for name in pair)
    at_risk = roles.metric.plain and pair and numeric and unit is not None
    if at_risk and sample.different(str(unit)) < sample.rows:
        raise InputError(
            "metric",
            f"{pair[0]} and {pair[1]} seem to be the start and the stop of a time at risk: "
            f"{SURVIVAL}. If they are not, say how the rows of a unit are combined, such as "
            'aggregate="sum" (--aggregate sum)',
        )
    metric = roles.columns.get("metric", "")
    if roles.metric.value is not None or plain(metric) not in EVENTS or roles.unclear:
        return
    columns = [c for c in sample.table.columns if c not in roles.columns.values()]
    times = [c for c in columns if plain(c) in DURATIONS and c in sample.numbers]
    if times:
        # Event flags are often coded as 2 for an event and 1 for none.
        codes = sorted(sample.kinds(metric))
        flag = f"{metric}=2" if codes == ["1", "2"] else metric
        raise InputError(
            "metric",
            f"{times[0]} seems to be the time until {metric}, or until the follow-up ended: "
            f"{SURVIVAL}. To compare how many have {metric} however long they were followed, name "
            f"the metric {flag!r} (--metric {flag})",
        )


def ask_about_blanks(roles: Roles) -> None:
    """Ask what units without a value count as, if no other unit has an outcome of 0."""
    sample, unit, metric = roles.events, roles.meant("unit"), roles.meant("metric")
    stated = roles.metric.missing is not None or roles.metric.window is not None
    if stated or roles.asked.design is not None or not (roles.alone and roles.metric.plain):
        return
    if metric is None or metric not in sample.table.columns:
        return
    if roles.options.get("count") or roles.asked.log.count:
        return
    if unit is not None and sample.different(unit) < sample.rows:
        return
    blanks, rows = sample.odd_blanks(metric)
    if blanks and blanks == rows:
        numbers = [c for c in sample.numbers if c in sample.free]
        roles.ask("metric", f"no row has a value in {metric}", next(iter(numbers), "COLUMN"))
    elif blanks:
        rows_have = "1 row has" if blanks == 1 else f"{blanks:,} rows have"
        reason = (
            f"{rows_have} no {metric}, and no row has a {metric} of 0: say whether the "
            'missing outcomes are unknown and do not count (missing="exclude", --missing '
            "exclude), or whether nothing happened (missing=0, --missing 0)"
        )
        roles.ask("missing", reason, "exclude")


def ask_about_writing(roles: Roles) -> None:
    """Add questions about the format of dates and numbers to the other questions."""
    table, log = roles.events.table, roles.asked.log
    time, metric = roles.meant("time"), roles.meant("metric")
    try:
        if time in table.columns:
            times_of(table, time, log.time_format)
    except InputError as problem:
        roles.ask("time_format", str(problem), "FORM")
    try:
        if metric in table.columns:
            written_of(table, str(metric), log.decimal, whole=roles.meant("count") is not None)
    except InputError as problem:
        roles.ask("decimal", str(problem), ".")


def arms_in_columns(columns: Iterable[str]) -> dict[str, Stems]:
    """Return the columns of each arm, if their names differ only by a word for the arm.

    >>> arms_in_columns(["day", "sales_a", "sales_b"])
    {'a': {'sales': 'sales_a'}, 'b': {'sales': 'sales_b'}}
    >>> arms_in_columns(["day", "sales"])
    {}
    """
    names = {plain(name): name for name in columns}
    for words in ARMS:
        each: dict[str, Stems] = {}
        for word in words:
            forms = re.compile(rf"^(?:{word}_(.+)|(.+)_{word}|{word})$")
            matches = {name: forms.match(key) for key, name in names.items()}
            each[word] = {
                (match[1] or match[2] or ""): name for name, match in matches.items() if match
            }
        shared = [stem for stem in each[words[0]] if all(stem in stems for stems in each.values())]
        if shared:
            return {word: {stem: stems[stem] for stem in shared} for word, stems in each.items()}
    return {}


def ask_about_wide(roles: Roles) -> bool:
    """Ask to turn columns of several arms into rows; return whether there are such columns.

    The call to copy has the query for it.
    """
    sample, asked = roles.events, roles.asked
    stated = (asked.arm, asked.unit, asked.log.query, roles.metric.value)
    if not roles.alone or any(entry is not None for entry in stated):
        return False
    by_arm = arms_in_columns([c for c in sample.numbers if c in sample.free])
    used = [name for stems in by_arm.values() for name in stems.values()]
    arms = [c for c in usual("arm", sample.free) if c not in used and sample.different(c) > 1]
    stems = next(iter(by_arm.values()), {})
    counts = [stem for stem in stems if re.sub(NUMBER_OF, "", stem) in COUNTS]
    if not by_arm or (arms and not counts):
        return False
    tests = [c for c in sample.free if re.search(f"{TESTS}|{METRICS}", plain(c))]
    tests += arms if tests else []
    times = [c for c in sample.free if usual("time", [c]) or plain(c).startswith("time_since")]
    times = [c for c in times if c not in (*used, *tests)]
    (terms, options), growing = _terms(stems, counts), ""
    if tests:
        terms["test"] = f"concat_ws(' ', {', '.join(map(quoted, tests))})"
        options["test"] = "test"
    if counts and times and sample.never_falls(stems[counts[0]], times[0], tests):
        options |= {"cumulative": True, "time": times[0]}
        growing = (
            "; no count falls with the time, so that rows seem to have what was counted so far"
        )
    roles.unclear = [
        f"the arms stand beside each other, in {listed(used, 'and')}, and a row must be about one "
        "arm: the query puts them below each other"
        + ("" if counts else ", and every row is taken for a unit")
        + growing
    ]
    texts = [name for name in used if sample.table[name].type().is_string()]
    roles.options = {"query": _query(by_arm, terms, tests, texts), "arm": "arm", **options}
    return True


def _terms(stems: Stems, counts: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return SQL terms to compute for the rows of an arm, and the options for reading them."""
    if not counts:
        return {}, {"metric": next(reversed(stems)) or "value", "row_is_unit": True}
    known = (AVERAGES, VARIANCES, DEVIATIONS)
    mean, variance, deviation = (next((s for s in stems if s in names), None) for names in known)
    count = counts[0]
    if mean is not None and (variance or deviation):
        spread = variance or f"{deviation} ^ 2"
        squares = f"({count} - 1) * {spread} + {count} * {mean} ^ 2"
        terms = {"total": f"{count} * {mean}", "squares": squares}
        return terms, {"metric": "total", "count": count, "squares": "squares"}
    measured = [stem for stem in stems if stem != count]
    return {}, {"metric": measured[-1] if measured else "COLUMN", "count": count}


def _query(
    by_arm: Mapping[str, Stems], terms: Mapping[str, str], tests: list[str], texts: list[str]
) -> str:
    """Return the query that turns columns of arms into rows; `texts` are cast to numbers."""
    parts = ["*" + f" EXCLUDE ({', '.join(map(quoted, tests))})" * bool(tests)]
    parts += [f"{term} AS {name}" for name, term in terms.items()]
    # A number with very many digits is still text here.
    casts = [f"CAST({name} AS DOUBLE) AS {name}" for name in map(quoted, texts)]
    source = f"(SELECT * REPLACE ({', '.join(casts)}) FROM log)" if casts else "log"  # nosec B608
    values = [quoted(stem or "value") for stem in next(iter(by_arm.values()))]
    columns = {arm: ", ".join(map(quoted, stems.values())) for arm, stems in by_arm.items()}
    arms = ", ".join(f"({names}) AS '{arm}'" for arm, names in columns.items())
    return (
        f"SELECT {', '.join(parts)} FROM {source} "  # nosec B608 - it is shown, not run
        f"UNPIVOT INCLUDE NULLS (({', '.join(values)}) FOR arm IN ({arms}))"
    )
