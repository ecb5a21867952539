"""The entries of a unit column: how many differ, and which words stand for totals or no unit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bascule.analysis.log.rows import NO_UNIT, TOTALS
from bascule.analysis.source.places import is_duckdb, is_opened_here, run

LONGEST_WORD = 24
"""Maximum length in bytes of a word for totals or for no unit, with spaces around it."""

FIRST_ROWS = 200_000
"""Units are counted in this many first rows before they are counted in all rows."""

NEARLY = 0.85
"""Minimum ratio of the approximate number of units to that of rows at which units are counted
exactly: below it, a row cannot be a unit of its own."""

MOST_SORTED = 25_000_000
"""Approximate maximum number of 64-bit hashes to sort at once; more are sorted in parts."""

KNOWN = tuple(dict.fromkeys(word.lower() for word in (*TOTALS, *NO_UNIT)))
"""Words for totals and for no unit, in lower case."""

WORDS = rf"(?i)^\s*({'|'.join(map(re.escape, KNOWN))})\s*$"
"""Pattern of these words, with spaces around them."""

WORD = 0
"""Number that replaces the hash of a word for totals or for no unit."""


def entries_of(table: Any, column: str | None, rows: int) -> dict[str, Any]:
    """Return the words for totals and for no unit in a unit column, and how many entries differ.

    The keys are the fields `totals`, `no_unit` and `units` of `Columns`; those without a result are
    left out.
    """
    if column is None or not table[column].type().is_string():
        return {}
    import ibis

    unit, units = table[column], None
    # DuckDB would look up every entry in a list of words, and matches a pattern only where needed.
    is_word = unit.re_search(WORDS) if is_duckdb(unit) else unit.strip().lower().isin(KNOWN)
    # Longer entries are skipped, so that the cost does not depend on the length of ids.
    is_word = ibis.ifelse(_byte_length(unit) <= LONGEST_WORD, is_word, False)
    if is_opened_here(table.get_backend()):
        units = in_first_rows(table, unit, rows)
        if units is None:
            marked = ibis.ifelse(is_word, ibis.literal(WORD, "uint64"), hashed(unit))
            units, has_words = _sorted(table.filter(unit.notnull()).select(hash=marked), rows)
            if not has_words:
                return {"units": units}
    words = table.filter(is_word).select(entry=unit).distinct()
    entries = [row["entry"] for row in run(words)]
    totals = tuple(entry for entry in entries if entry.strip().lower() in TOTALS)
    no_unit = tuple(entry for entry in entries if entry in NO_UNIT)
    return {"totals": totals, "no_unit": no_unit, "units": units}


def in_first_rows(table: Any, unit: Any, rows: int) -> int | None:
    """Return about how many units there are; None if each of the first rows may have its own.

    Most logs with several rows per unit show that in their first rows.
    """
    first = table.select(unit=unit).limit(FIRST_ROWS)
    share = different(first, first.unit, FIRST_ROWS) / max(1, min(rows, FIRST_ROWS))
    return int(share * rows) if share < NEARLY else None


def different(table: Any, entry: Any, rows: int) -> int:
    """Return the number of different entries that are not null, among at most `rows` of them.

    Entries with equal hashes count as one. With twenty million different entries, the probability
    that any two have the same hash is 1e-5.
    """
    if not is_opened_here(table.get_backend()):
        return int(run(table.agg(units=entry.nunique()))[0]["units"])
    return _sorted(table.filter(entry.notnull()).select(hash=hashed(entry)), rows)[0]


def _sorted(hashes: Any, rows: int) -> tuple[int, bool]:
    """Return the number of different hashes in the local DuckDB, and whether any is `WORD`.

    Sorting them takes a fraction of the time in which DuckDB fills a set.
    """
    backend, parts = hashes.get_backend(), 1 + rows // MOST_SORTED
    number, has_words = 0, False
    for part in range(parts):
        some = hashes.filter(hashes.hash % parts == part) if parts > 1 else hashes
        found = backend.con.execute(backend.compile(some)).fetchnumpy()["hash"]
        if len(found):
            found.sort()
            number += 1 + int(np.count_nonzero(found[1:] != found[:-1]))
            has_words = has_words or found[0] == WORD
    return number, has_words


def hashed(entry: Any) -> Any:
    """Return a hash of 64 bits of each entry, in DuckDB."""
    import ibis
    import ibis.expr.datatypes as dt

    @ibis.udf.scalar.builtin(name="hash", signature=((entry.type(),), dt.uint64))
    def hashed(entry):  # type: ignore[no-untyped-def]
        """Return a hash of an entry."""

    return hashed(entry)


def _byte_length(text: Any) -> Any:
    """Return the length of a text: in bytes in DuckDB, where it is cheaper, else in characters."""
    import ibis
    import ibis.expr.datatypes as dt

    if not is_duckdb(text):
        return text.length()

    @ibis.udf.scalar.builtin(signature=((dt.string,), dt.int64))
    def strlen(text):  # type: ignore[no-untyped-def]
        """Return the number of bytes of a text."""

    return strlen(text)
