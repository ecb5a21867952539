"""Recompute early signals: their sums, and the block sizes that were based on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from bascule.core.procedures.base import Signals
from bascule.core.progress import next_block
from bascule.live.reports.verification.row_checks import Findings, readable_runs, short
from bascule.live.steps.maturity import sizes_of, with_delay
from bascule.live.steps.replay import Replay
from bascule.live.storage.deals import Deal, Used
from bascule.live.storage.queries import Loaded, Rows
from bascule.live.storage.state import Assignment


class SignalCheck:
    """Recomputes the early signals of a test, and the block sizes that were based on them.

    The sizes of a block are recomputed from the signals stored with it, once the replay has folded
    as many units as had been folded when the block was dealt.
    """

    def __init__(self, connection: Connection, stored: Loaded, findings: Findings) -> None:
        self.connection, self.stored, self.findings = connection, stored, findings
        self.is_used = stored.design.procedure.uses_signals
        self._arms = len(stored.design.arms)
        self._heard: dict[int, float] = {}
        self._choices = self._read() if self.is_used else iter(())
        self._next = next(self._choices, None)

    def read(self, rows: Sequence[Assignment]) -> None:
        """Read the times of the first events of units."""
        if self.is_used:
            log = Rows(self.connection, self.stored.id)
            self._heard = log.first_events([row.number for row in rows])

    def is_heard(self, row: Assignment) -> bool:
        """Whether a unit has an event."""
        return row.number in self._heard

    def with_delay(self, replay: Replay, row: Assignment) -> Replay:
        """Return the replay with the delay of the next unit's event added to the early signals."""
        self.check_choices(replay)
        if row.number not in self._heard:
            return replay
        span = row.time, self._heard[row.number]
        state = with_delay(self.stored.design, replay.state, row.arm, *span)
        return replace(replay, state=state)

    def check_choices(self, replay: Replay) -> None:
        """Recompute the sizes of blocks that were dealt up to this point of the replay."""
        while self._next is not None and self._next[1].folded <= replay.state.folding.folded:
            deal, used = self._next
            self._next = next(self._choices, None)
            sizes = sizes_of(deal, self._arms)
            rule = replay.design.rule.with_knob(used.knob)
            # Arms without units in the block had been removed.
            statistics = replay.changed(before=deal.number).state.latest_once
            gone = frozenset(arm for arm, units in enumerate(sizes) if not units)
            statistics = replace(statistics, removed=gone - statistics.dropped)
            design = replace(replay.design, rule=rule)
            chosen = next_block(design, statistics, Signals(*used.signals)).units
            if chosen != sizes:
                self.findings.add(
                    f"block {deal.number} has sizes {short(sizes)}, but those that follow "
                    f"from its stored inputs are {short(chosen)}"
                )

    def _read(self) -> Iterator[tuple[Deal, Used]]:
        for run in readable_runs(self.connection, self.stored.id):
            yield from ((deal, deal.used) for deal in run if deal.used is not None)
