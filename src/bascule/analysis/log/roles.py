"""The roles of a log's columns while they are being found, with what is not clear."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bascule.analysis.call import Asked, LogMetric
from bascule.analysis.log.naming import column, listed, other_roles
from bascule.analysis.log.sample import Sample


class Roles:
    """The columns that have a role, what is left open, and the options that would answer it.

    `events` and `arms` are the tables with the values and the arms, which may be the same. `per` is
    the denominator where it was made here, and `test` the column of the test in a log of many.
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
        taken = set(other_roles(events if self.alone else assignments, asked, metric, per))
        self.events = Sample(events, set(taken))
        self.arms = self.events if self.alone else Sample(assignments, set(taken))
        self.covariate = column(self.arms.table, "covariate", asked.covariate)
        # Rows that count units, or are units, have no column of identities.
        self.no_unit = asked.log.row_is_unit or asked.log.count is not None
        self.columns: dict[str, str] = {}
        self.unclear: list[str] = []
        self.options: dict[str, Any] = {}
        self.notes: list[str] = []

    def take(self, role: str, name: str, sample: Sample) -> None:
        """Use a column for a role."""
        self.columns[role] = name
        sample.taken.add(name)

    def ask(self, role: str, why: str, example: Any = "COLUMN") -> None:
        """Leave a role open; `example` stands for it in the call to copy."""
        self.unclear.append(why)
        self.options[role] = example

    def choose(
        self, role: str, sample: Sample, candidates: Iterable[list[str]], *, finest: bool = False
    ) -> bool:
        """Take the only candidate of the first group that has any; ask if it has several.

        Of several identities the one with the most entries, the `finest`, is the example.
        """
        for names in candidates:
            if len(names) == 1:
                self.take(role, names[0], sample)
                return True
            if names:
                example = max(names, key=sample.different) if finest else names[0]
                self.ask(role, f"{role} could be {listed(names, 'or')}", example)
                return True
        return False

    def meant(self, role: str) -> str | None:
        """The column of a role, or the one that the call to copy has for it."""
        return self.columns.get(role, self.options.get(role))

    @property
    def has_unit(self) -> bool:
        """Whether there is a column of units, or one is asked for."""
        return self.meant("unit") is not None

    @property
    def tests(self) -> str | None:
        """The column of the test in a log of many, as given or as it seems."""
        return self.test or self.options.get("test")
