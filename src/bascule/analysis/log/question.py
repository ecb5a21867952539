"""The one question that is asked about a log: what was recognised, what was not, and a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bascule.core.errors import InputError

OTHER_SUMS = (
    "for sums of other numbers export the sum of the squares of the units' values as well, and "
    'name its column, squares="COLUMN" (--squares COLUMN), or export one row per unit'
)
"""What a log needs whose rows are sums, and whose units give other numbers than 0 and 1."""


COUNTS_RISE = (
    "the counts of all arms rise from day to day: say whether rows have what was counted up to "
    "their time (cumulative=True, --cumulative) or on their day alone (cumulative=False, "
    "--no-cumulative)"
)
"""What is asked where counts look like totals."""


class Question(InputError):  # noqa: N818 - it asks
    """Columns that a log leaves open, asked for at once.

    `recognised` says which column is used for what, `unclear` what is not clear, and `options` has
    the options that would answer, by their names in Python.
    """

    def __init__(
        self,
        place: str,
        recognised: Mapping[str, str],
        unclear: Iterable[str],
        **options: str | bool,
    ) -> None:
        self.place, self.recognised, self.options = place, dict(recognised), options
        self.unclear = tuple(unclear)
        super().__init__(next(iter(options), "metric"), self.text(self._call()))

    def __reduce__(self) -> Any:
        arguments = (self.place, self.recognised, self.unclear)
        return _question, (*arguments, self.options)

    def text(self, example: str) -> str:
        """What was recognised, what was not, and a complete call."""
        clear = ", ".join(f"{role} {column}" for role, column in self.recognised.items())
        return (
            f"{'; '.join(self.unclear)}. Recognised: {clear or 'nothing'}. "
            f"Ask again with the columns that you mean, for example: {example}"
        )

    @property
    def zero_or_one(self) -> bool:
        """Whether rows are sums that may be those of 0 and 1."""
        return "count" in self.options and "squares" not in self.options

    def _call(self) -> str:
        source = "log" if self.place.startswith("a ") else repr(self.place)
        named = {"unit", "arm", "time"}
        columns = {role: name for role, name in self.recognised.items() if role in named}
        columns = {role: repr(name) for role, name in columns.items() if " " not in role}
        options = columns | {name: repr(value) for name, value in self.options.items()}
        metric = options.pop("metric", repr(self.recognised.get("metric", "COLUMN")))
        if "follow_up" in options:
            pair = tuple(str(self.options["follow_up"]).split(","))
            metric = f"bs.LogMetric({metric}, follow_up={pair!r})"
            del options["follow_up"]
        if "count" in options:
            names = ("count", "squares", "cumulative")
            sums = [f"{name}={options.pop(name)}" for name in names if name in options]
            source = f"bs.Log({source}, {', '.join(sums)})"
        if self.zero_or_one:
            metric = f"bs.LogMetric({metric}, outcome=bs.Bernoulli())"
        parts = [source, metric, *(f"{name}={value}" for name, value in options.items())]
        return f"bs.{'analyze_each' if 'test' in options else 'analyze'}({', '.join(parts)})"


def _question(place: str, recognised: Any, unclear: Any, options: dict[str, Any]) -> Question:
    return Question(place, recognised, unclear, **options)
