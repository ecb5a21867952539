"""A figure together with the numbers it shows."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a figure of the paper becomes: a drawing and its table."""

    figure: Figure
    rows: Sequence[Row]


def csv_text(rows: Sequence[Row]) -> str:
    """Rows with the same columns as CSV.

    >>> print(csv_text([{"rule": "ETC", "regret": 15.0}]), end="")
    rule,regret
    ETC,15
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_written(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _written(value: str | int | float) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)
