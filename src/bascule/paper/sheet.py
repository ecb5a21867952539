"""A figure together with the numbers it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bascule.core.files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Row", "Sheet"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a figure of the paper becomes: a drawing and its table."""

    figure: Figure
    rows: Sequence[Row]
