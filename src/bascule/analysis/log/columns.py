"""Which columns of a log are read, and which arms it has."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bascule.analysis.log.numbers import Written
from bascule.analysis.log.times import Times
from bascule.analysis.source.backend import run
from bascule.core.design_parts import MOST_ARMS
from bascule.core.errors import InputError

TOTALS = (
    *("total", "totals", "grand total", "sum", "all", "overall", "gesamt", "summe", "gesamtsumme"),
    *("somme", "totale", "totaal", "suma"),
)
"""Text in place of a unit or an arm that stands for a row of totals below a table."""

NO_ARM = ("", "nan", "null", "<na>", "na", "n/a", "#n/a", *TOTALS)
"""Text in place of an arm that stands for none."""

CONTROLS = (
    *("control", "placebo", "baseline", "default", "original", "old", "holdout", "standard"),
    *("ctrl", "cont", "kontrolle", "psa"),
)
"""Names of arms that others are compared with, where nothing else is said."""

INVISIBLE = dict.fromkeys(map(ord, "\0\u200b\u200c\u200d\u2060\ufeff"))

MOST_SPELLINGS = 4 * MOST_ARMS


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are read; None for those that are not there.

    Without `unit` every row is a unit, or has sums of `count` units. `probability` is that of the
    unit's own arm; `probabilities` has a column for each arm. `written` says how columns of text
    write numbers.
    """

    unit: str | None
    arm: str | None
    value: str | None
    times: Times
    segment: str | None = None
    probability: str | None = None
    probabilities: tuple[str, ...] = ()
    count: str | None = None
    squares: str | None = None
    per: str | None = None
    covariate: str | None = None
    cluster: str | None = None
    written: Mapping[str, Written] = field(default_factory=dict)

    @property
    def adjusted(self) -> bool:
        """Whether outcomes are ratios, adjusted, or those of clusters."""
        return self.per is not None or self.covariate is not None or self.cluster is not None


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms of a log in their order, and which of them each entry of its column means.

    `respelled` has the entries that differ from their arm's name by case or spaces, with the
    number of their rows. `rows` is how many rows have an arm; `none` has the entries that stand for
    no arm.
    """

    names: tuple[str, ...]
    entries: tuple[tuple[Any, int], ...]
    respelled: Mapping[str, int]
    rows: int = 0
    none: tuple[str, ...] = ()


def arms_of(
    table: Any, column: str, design_arms: Sequence[str] | None, control: str | None = None
) -> Arms:
    """The arms of the design, or those of the log by their names, the control first.

    Entries that differ by case or by spaces around them mean the same arm; its name is that of the
    design, or the entry that most rows have.
    """
    rows = table.group_by(entry=table[column]).agg(rows=table.count()).limit(MOST_SPELLINGS + 1)
    rows = rows.select("rows", "entry", text=rows.entry.cast("string"))
    counts = [row for row in run(rows) if row["text"] is not None]
    words = _no_arm(design_arms)
    none = tuple(row["text"] for row in counts if _plain(row["text"]) in words)
    counts = [row for row in counts if row["text"] not in none]
    counts.sort(key=lambda row: (-row["rows"], row["text"]))
    by_plain: dict[str, str] = {}
    if design_arms is not None:
        by_plain = {_plain(name): name for name in design_arms}
        exact = set(design_arms)
    else:
        for row in counts:
            by_plain.setdefault(_plain(row["text"]), row["text"].strip())
        exact = set(by_plain.values())
    names = tuple(sorted(exact, key=_order)) if design_arms is None else tuple(design_arms)
    if len(names) > MOST_ARMS or len(counts) > MOST_SPELLINGS:
        raise InputError(
            "arm", f"arm: column {column!r} has more than {MOST_ARMS} values: is it the right one?"
        )
    if control is not None and design_arms is None:
        if control not in names:
            known = ", ".join(names)
            raise InputError("control", f"control must be one of {known} (got {control!r})")
        names = (control, *(name for name in names if name != control))
    place = {name: at for at, name in enumerate(names)}
    entries, respelled, total = [], {}, 0
    for row in counts:
        text = row["text"]
        name = text if text in place else by_plain.get(_plain(text))
        if name is None:
            continue
        entries.append((row["entry"], place[name]))
        total += int(row["rows"])
        if text != name:
            respelled[text] = int(row["rows"])
    return Arms(names, tuple(entries), respelled, total, none)


def _order(name: str) -> tuple[bool, str]:
    """What arms are ordered by: a name for the control comes first."""
    return _plain(name) not in CONTROLS, name


def coded(table: Any, column: str, arms: Arms) -> Any:
    """The arm of a row as a small whole number; null for one that is unknown."""
    import ibis

    kind = "int8" if len(arms.names) < 128 else "int16"
    if not arms.entries:
        return ibis.null(kind)
    raw = table[column]
    cases = [(raw == entry, ibis.literal(i, kind)) for entry, i in arms.entries]
    return ibis.cases(*cases, else_=ibis.null(kind))


def no_arm(table: Any, column: str, arms: Arms) -> Any:
    """Whether a row names no arm: null, or an entry that stands for it."""
    raw = table[column]
    return raw.isnull() | raw.cast("string").isin(arms.none) if arms.none else raw.isnull()


def _no_arm(arms: Sequence[str] | None) -> tuple[str, ...]:
    """The words for no arm, but for those that are the name of one."""
    named = {_plain(arm) for arm in arms or ()}
    return tuple(word for word in NO_ARM if word not in named)


def _plain(text: str) -> str:
    """A name as it is compared: in one case, without spaces around it or signs that nobody sees."""
    return unicodedata.normalize("NFC", text.translate(INVISIBLE)).strip().casefold()
