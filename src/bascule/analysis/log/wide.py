"""Logs whose arms stand beside each other, and the query that puts them below each other.

A table such as `day, control, treatment` or `visitors_a, visitors_b, sales_a, sales_b` has rows for
all arms together. A row of a log is about one arm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bascule.analysis.log.naming import COUNTS, METRICS, NUMBER_OF, TESTS, listed, plain, usual
from bascule.analysis.log.roles import Roles

ARMS = (
    *(("control", "treatment"), ("control", "test"), ("control", "variant"), ("ctrl", "trt")),
    *(("control", "experiment"), ("control", "exposed"), ("control", "treated"), ("c", "t")),
    *(("a", "b", "c"), ("a", "b"), ("old", "new")),
)
"""Words for arms in the names of columns."""

AVERAGES = ("mean", "avg", "average")
VARIANCES, DEVIATIONS = ("variance", "var"), ("std", "sd", "stdev", "deviation")

Stems = dict[str, str]
"""The columns of an arm by what their names have in common with those of the others."""


def arms_in_columns(columns: Iterable[str]) -> dict[str, Stems]:
    """The columns of each arm, where their names differ by a word for the arm alone.

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
    """Ask to put the columns of several arms below each other; return whether there are such.

    The call to copy has the query that does it.
    """
    sample, asked = roles.events, roles.asked
    stated = (asked.arm, asked.unit, asked.log.query, roles.metric.value)
    if not roles.alone or any(one is not None for one in stated):
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
    others = [c for c in sample.free if c not in (*used, *tests)]
    times = [c for c in others if usual("time", [c]) or plain(c).startswith("time_since")]
    terms, options = _terms(stems, counts)
    texts = [name for name in used if sample.table[name].type().is_string()]
    if tests:
        options["test"] = "test"
    if counts and times and sample.never_falls(stems[counts[0]], times[0], tests):
        options |= {"cumulative": True, "time": times[0]}
    roles.unclear = [
        f"the arms stand beside each other, in {listed(used, 'and')}, and a row must be about one "
        "arm: the query puts them below each other"
        + ("" if counts else ", and every row is taken for a unit")
    ]
    # A number of very many digits is still text here.
    numbers = {name: f"CAST({quoted(name)} AS DOUBLE)" for name in texts}
    query = _query(by_arm, terms, [*map(quoted, others), *_named_tests(tests)], numbers)
    roles.options = {"query": query, "arm": "arm", **options}
    return True


def _terms(stems: Stems, counts: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """What the rows of an arm have, in terms of {stems}, and the options for reading these."""
    terms = {stem or "value": f"{{{stem}}}" for stem in stems}
    if not counts:
        return terms, {"metric": next(reversed(terms)), "row_is_unit": True}
    known = (AVERAGES, VARIANCES, DEVIATIONS)
    mean, variance, deviation = (next((s for s in stems if s in names), None) for names in known)
    count = f"{{{counts[0]}}}"
    if mean is not None and (variance or deviation):
        spread = f"{{{variance}}}" if variance else f"{{{deviation}}} ^ 2"
        terms = {
            "units": count,
            "total": f"{count} * {{{mean}}}",
            "squares": f"({count} - 1) * {spread} + {count} * {{{mean}}} ^ 2",
        }
        return terms, {"metric": "total", "count": "units", "squares": "squares"}
    measured = [stem for stem in terms if stem != counts[0]]
    return terms, {"metric": measured[-1] if measured else "COLUMN", "count": counts[0]}


def _named_tests(tests: list[str]) -> list[str]:
    """The column that names the test of a row, where there are several."""
    return [f"concat_ws(' ', {', '.join(map(quoted, tests))}) AS test"] if tests else []


def _query(
    by_arm: Mapping[str, Stems],
    terms: Mapping[str, str],
    beside: list[str],
    numbers: Mapping[str, str],
) -> str:
    """The rows of all arms below each other; `numbers` says how columns of text are read."""
    selects = []
    for arm, stems in by_arm.items():
        read = {stem: numbers.get(name, quoted(name)) for stem, name in stems.items()}
        values = [f"{_filled(term, read)} AS {quoted(name)}" for name, term in terms.items()]
        columns = ", ".join([*beside, f"'{arm}' AS arm", *values])
        selects.append(f"SELECT {columns} FROM log")  # nosec B608 - it is shown, not run
    return " UNION ALL ".join(selects)


def _filled(term: str, columns: Mapping[str, str]) -> str:
    """A term with the columns of an arm in place of what their names have in common."""
    return re.sub(r"\{(.*?)\}", lambda stem: columns[stem[1]], term)


def quoted(name: str) -> str:
    """A column as a query has it.

    >>> quoted("sales"), quoted("Sales [USD]")
    ('sales', '"Sales [USD]"')
    """
    return name if re.fullmatch(r"[a-z][a-z_0-9]*", name) else '"' + name.replace('"', '""') + '"'
