"""What the columns of a log say: arms and numbers, as expressions for Ibis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bascule.analysis.source.backend import is_duckdb, run
from bascule.analysis.source.times import Times
from bascule.core.checks import LARGEST
from bascule.core.design import MOST_ARMS
from bascule.core.errors import InputError

BLANK_TEXTS = ("", "nan")
"""Text that stands for no value, in any case and with spaces around it."""

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
"""Text that stands for 1 and for 0, in any case and with spaces around it."""

NO_ARM = ("", "nan", "null", "<na>")
"""Text in place of an arm that stands for none."""

NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"

MOST_SPELLINGS = 4 * MOST_ARMS


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are read; None for those that are not there.

    Without `unit` every row is a unit, or has sums of `count` units. `probability` is that of the
    unit's own arm; `probabilities` has a column for each arm.
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

    @property
    def adjusted(self) -> bool:
        """Whether outcomes are ratios, adjusted, or those of clusters."""
        return self.per is not None or self.covariate is not None or self.cluster is not None


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms of a log in their order, and which of them each entry of its column means.

    `respelled` has the entries that differ from their arm's name by case or spaces, with the
    number of their rows. `rows` is how many rows have an arm.
    """

    names: tuple[str, ...]
    entries: tuple[tuple[Any, int], ...]
    respelled: Mapping[str, int]
    rows: int = 0


def arms_of(
    table: Any, column: str, design_arms: Sequence[str] | None, control: str | None = None
) -> Arms:
    """The arms of the design, or those of the log in the order of their names, the control first.

    Entries that differ by case or by spaces around them mean the same arm; its name is that of the
    design, or the entry that most rows have.
    """
    rows = table.group_by(entry=table[column]).agg(rows=table.count()).limit(MOST_SPELLINGS + 1)
    rows = rows.select("rows", "entry", text=_text(rows.entry))
    counts = [row for row in run(rows) if row["text"] is not None]
    counts = [row for row in counts if _plain(row["text"]) not in NO_ARM]
    counts.sort(key=lambda row: (-row["rows"], row["text"]))
    by_plain: dict[str, str] = {}
    if design_arms is not None:
        by_plain = {_plain(name): name for name in design_arms}
        exact = set(design_arms)
    else:
        for row in counts:
            by_plain.setdefault(_plain(row["text"]), row["text"].strip())
        exact = set(by_plain.values())
    names = tuple(sorted(exact)) if design_arms is None else tuple(design_arms)
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
    return Arms(names, tuple(entries), respelled, total)


def coded(table: Any, column: str, arms: Arms) -> Any:
    """The arm of a row as a small whole number; null for one that is unknown."""
    import ibis

    kind = "int8" if len(arms.names) < 128 else "int16"
    if not arms.entries:
        return ibis.null(kind)
    raw = table[column]
    cases = [(raw == entry, ibis.literal(i, kind)) for entry, i in arms.entries]
    return ibis.cases(*cases, else_=ibis.null(kind))


def no_arm(table: Any, column: str) -> Any:
    """Whether a row names no arm: null, or text that stands for it."""
    raw = table[column]
    if not raw.type().is_string():
        return raw.isnull()
    return raw.isnull() | raw.strip().lower().isin(NO_ARM)


def number(table: Any, column: str, field: str) -> tuple[Any, Any]:
    """A column as a number (null where there is none), and whether a row has something else.

    Null, NaN and blank text are all the same: no value. Words for yes and no are 1 and 0.
    """
    import ibis

    raw = table[column]
    kind = raw.type()
    if kind.is_string():
        right = raw.re_search(NUMBER)
        value = ibis.ifelse(right, raw, ibis.null("string"))
        value = value.try_cast("float64") if is_duckdb(table) else value.cast("float64")
        word = raw.strip().lower()
        value = ibis.cases((word.isin(TRUE_WORDS), 1.0), (word.isin(FALSE_WORDS), 0.0), else_=value)
        known = word.isin((*BLANK_TEXTS, *TRUE_WORDS, *FALSE_WORDS))
        return value, raw.notnull() & ~right & ~known
    if kind.is_boolean():
        return raw.ifelse(1.0, 0.0), ibis.literal(False)
    if kind.is_integer():
        return raw.cast("float64"), ibis.literal(False)
    if kind.is_numeric():
        value = raw.cast("float64")
        if kind.is_floating():
            value = ibis.ifelse(value.isnan(), ibis.null("float64"), value)
        return value, value.notnull() & (value.abs() > LARGEST)
    raise InputError(field, f"{field}: column {column!r} must have numbers (it has {kind})")


def worded(table: Any, column: str) -> Any:
    """Whether a row has a word for yes or no in place of a number."""
    import ibis

    raw = table[column]
    if not raw.type().is_string():
        return ibis.literal(False)
    return raw.strip().lower().isin((*TRUE_WORDS, *FALSE_WORDS)).fill_null(False)


def _plain(text: str) -> str:
    return text.strip().casefold()


def _text(column: Any) -> Any:
    return column if column.type().is_string() else column.cast("string")
