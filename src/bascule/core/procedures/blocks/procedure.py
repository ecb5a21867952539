"""The procedure of rules that work in blocks, whose sizes are fixed before their outcomes.

The statistics of a test are converted to rows of its family of evidence
(`core.evidence.families`). The steps work on these rows, and the simulator uses the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal

from bascule.core.errors import invalid
from bascule.core.evidence.betting import ORDINARY
from bascule.core.evidence.families.following_bets import horizon_of
from bascule.core.evidence.families.known_spread import NO_FLOORS
from bascule.core.evidence.families.ratio import BLOCK_PER, PRODUCTS, RAW
from bascule.core.evidence.families.rows import (
    ACTIVE,
    BLOCK_CUBES,
    BLOCK_SQUARES,
    BLOCK_SUM,
    BLOCK_UNITS,
    CLOCK,
    TOTAL,
    Difference,
    Family,
    Params,
    pair_index,
)
from bascule.core.evidence.horizon import normal_constant
from bascule.core.outcomes import Pair
from bascule.core.procedures.base import (
    AnyStatistics,
    Block,
    EndReason,
    Procedure,
    Prospect,
    Signals,
    SignalUse,
)
from bascule.core.procedures.blocks.horizon import Horizon
from bascule.core.procedures.blocks.signals import (
    ALIKE,
    DIFFERENT,
    USUAL_SLACK,
    EarlySignals,
    add_events,
    blend,
    judge_delays,
    most_tilt,
)
from bascule.core.procedures.blocks.steps import (
    FUTILE,
    BlockSteps,
    Scope,
    Share,
    begin_block,
    steps_of,
    units_of_leader,
)
from bascule.core.procedures.intervals.state import MOST_ARMS
from bascule.core.statistics import ArmStatistics, Statistics

USES: tuple[SignalUse, ...] = ("gentle", "on", "off")
"""How early signals are used if delays are `UNKNOWN`, `ALIKE` or `DIFFERENT`, in this order."""

END_REASONS: tuple[EndReason | None, ...] = (None, "horizon", "futility", "guardrails")
"""Reasons why a test ends, indexed by `GOES_ON`, `HORIZON`, `FUTILE` and `REFUSED`."""

NO_PRODUCTS = (0.0,) * PRODUCTS
"""Sums of the products with denominators, for ratios, before the first unit."""

OpenBlocks = Sequence[tuple[int, int, int]]
"""Blocks under way, as (leader, its units in a round, number of blocks); in a round every other arm
has the usual number of units."""

LiveRows = list[list[float]]
"""The rows of a test that is not simulated."""


@dataclass(frozen=True, slots=True)
class BlockProcedure(Procedure):
    """The procedure of tests in blocks: up to `tilt` units of the leader per unit of a challenger.

    `evidence` is the family that decides; `effect` is a planned difference in outcome units, 0 for
    none; `batch` is the number of units of each challenger that are assigned at once; `horizon` is
    the end of the test, None for none; `centre` is the share of its wealth that the central bet
    stakes; `share` returns the leader's units for each unit of a challenger, from its lead and the
    tilt. `early_signals` says when events in open windows affect who leads, and `slack` how much
    the arms' delays may then differ. `reflected` says whether outcomes are reflected, because the
    goal of the design is to decrease them.
    """

    evidence: Family
    tilt: float
    batch: int = 1
    effect: float = 0.0
    horizon: Horizon | None = None
    centre: float = ORDINARY
    share: Share = units_of_leader
    early_signals: EarlySignals | None = None
    slack: float = USUAL_SLACK
    reflected: bool = False
    counts: ClassVar[Literal["blocks"]] = "blocks"
    kind: ClassVar[str] = "blocks"
    assigns: ClassVar[Literal["blocks"]] = "blocks"

    # Settings

    def on_reflected(self) -> BlockProcedure:
        """Return the procedure for mirrored outcomes; its lifts are those of the original ones."""
        return replace(self, reflected=True)

    @property
    def steps(self) -> BlockSteps:
        """The steps between blocks."""
        return steps_of(self.evidence, Scope(self.arms == 2, intervals=True, horizon=True))

    @property
    def drawn_evidence(self) -> Family:
        """The family of evidence that simulations use, where each unit is one number."""
        return self.evidence.drawn or self.evidence

    @property
    def keeps_bounds(self) -> bool:
        """Whether running intersections of the intervals are stored.

        For two arms they are stored only with a flat boundary, whose intervals do not include
        earlier looks, and only without a smallest difference that matters.
        """
        flat = self.horizon is not None and self.evidence.first_ends and self.margin == 0.0
        return (1 if flat else 2) < self.arms <= MOST_ARMS

    @property
    def threshold(self) -> float:
        """The log evidence at which an arm is beaten."""
        return -math.log(self.design.calibration.delta)

    @property
    def params(self) -> Params:
        """The parameters of the evidence."""
        return self._params(self.horizon is not None and not self.horizon.advises)

    def _params(self, futility: bool) -> Params:
        horizon, effect = self.horizon, self.effect / self.outcome.scale
        known = not (self.outcome.limited or self.outcome.estimated)
        leaders = self.most_tilt
        # A stake is limited by the loss that the heaviest block can cause.
        effect_each = effect * leaders / (leaders + 1.0)
        reach, prior = 0.0, (1.0, 1.0)
        if horizon is not None:
            reach = horizon.reach
            prior = prior if known else horizon.prior_for(effect_each)
        flat = reach > 0.0 and self.evidence.first_ends and known
        # Within limits a lift needs means that cannot be negative.
        relative = self.evidence.lift is not None
        relative &= not self.outcome.limited or self.outcome.low >= 0.0
        zero = self.outcome.reflected(0.0) if self.reflected else 0.0
        return Params(
            precision=1.0 / self.outcome.scale,
            arms=float(self.arms),
            known=float(known),
            threshold=self.threshold,
            effect=effect,
            centre=self.centre,
            reach=reach,
            constant=normal_constant(self.design.calibration.delta) if reach else 0.0,
            # The last block ends beyond the horizon by less than `batch`.
            last=horizon_of(1.0, effect, reach) + self.batch if flat else 0.0,
            futility=horizon.futility if horizon is not None and futility else 0.0,
            prior=prior[0],
            prior_units=prior[1],
            planned=(horizon.variance or 0.0) if horizon is not None else 0.0,
            least=effect_each,
            batch=float(self.batch),
            margin=self.margin,
            direction=(-1.0 if self.reflected else 1.0) if relative else 0.0,
            zero=zero / self.outcome.scale,
            floors=NO_FLOORS,  # type: ignore[arg-type]
        )

    @property
    def margin(self) -> float:
        """The smallest difference that matters, in units of the scale; 0 for none."""
        return (self.design.min_effect or 0.0) / self.outcome.scale

    @property
    def most_tilt(self) -> float:
        """Maximum number of units that the leader gets for each unit of a challenger."""
        return float(self.share(math.inf, self.tilt))

    @property
    def largest_block(self) -> int:
        """Maximum number of units in a block."""
        return self.batch * (max(self.share(0.0, self.tilt), int(self.most_tilt)) + self.arms)

    @property
    def end_error(self) -> float:
        """Bound on the probability that a given end of a given interval is ever wrong."""
        return self.design.calibration.error / (self.arms - 1)

    @property
    def has_horizon(self) -> bool:
        """Whether every test ends at a horizon, whatever its outcomes are."""
        return self.horizon is not None

    @property
    def futile_below(self) -> float:
        """The conditional power below which the test ends; 0 for never."""
        return self.params.futility

    @property
    def even(self) -> bool:
        """Whether the leader never gets more units than a challenger."""
        return self.share(math.inf, self.tilt) == 1

    # Blocks

    def empty(self) -> Statistics:
        """Return the statistics before the first unit."""
        return Statistics.empty(self.arms)

    def unit_sums(self, value: float | Pair) -> ArmStatistics:
        """Return the statistics of one outcome, with its cube if skewness is needed."""
        if isinstance(value, Pair):
            return ArmStatistics.of_ratio(*value)
        if self.outcome.pairs:
            return ArmStatistics.of_ratio(value, 1.0)
        square = value * value
        cube = square * value if self.evidence.arm_columns > BLOCK_CUBES else 0.0
        return ArmStatistics(1, value, square, cube)

    def next_block(self, statistics: Statistics) -> Block:
        """Return the next block, which is fixed before its outcomes are known."""
        return self._block(*self.rows(statistics), self.tilt)

    def block_by_signals(self, statistics: Statistics, signals: Signals) -> Block:
        """Return the next block, which also depends on events in windows that are still open."""
        judged = self.judged(statistics, signals)
        arms, pairs = self.rows(statistics)
        if judged != DIFFERENT:
            pairs = self._with_signals(arms, pairs, signals)
        return self._block(arms, pairs, most_tilt(judged, self.tilt))

    def _block(self, arms: LiveRows, pairs: LiveRows, limit: float) -> Block:
        front, ahead = self.steps.leader(arms, pairs, self.arms, self.params)
        repeat, rounds = (self.batch, 1) if self.evidence.split else (1, self.batch)
        begin_block(arms, self.arms, front, self.share(ahead, limit) * rounds, rounds)
        return Block(tuple(int(arm[BLOCK_UNITS]) for arm in arms), front, repeat)

    @property
    def uses_signals(self) -> bool:
        """Whether the next block also depends on events in windows that are still open."""
        return self.early_signals is not None

    def signal_use(self, statistics: Statistics, signals: Signals) -> SignalUse | None:
        """Return how the next block uses early signals; None if the procedure never uses them."""
        return USES[self.judged(statistics, signals)] if self.uses_signals else None

    def judged(self, statistics: Statistics, signals: Signals) -> int:
        """Return `ALIKE`, `DIFFERENT` or `UNKNOWN` for the arms' delays; with "always" `ALIKE`."""
        if self.early_signals == "always":
            return ALIKE
        arms, _ = self.rows(statistics)
        no_bounds = [(0.0, 0.0, 0.0)] * self.arms
        return judge_delays(signals.delays or no_bounds, arms, self.arms, self.slack)

    def _with_signals(self, arms: LiveRows, pairs: LiveRows, signals: Signals) -> LiveRows:
        """Return the totals and clocks of all pairs, including early signals."""
        early, statistics = [[0.0, 0.0] for _ in pairs], [[0.0, 0.0] for _ in pairs]
        for sizes, events in signals.events:
            for arm, count in enumerate(events):
                if count:
                    add_events(early, sizes, self.arms, arm, float(count))
        spread = self.evidence.spread(arms, self.arms, self.params)
        sign = -1.0 if signals.for_the_worse else 1.0
        blend(statistics, pairs, early, sign, spread, self.outcome.scale)
        return statistics

    def next_size(self, statistics: AnyStatistics) -> int:
        """Return the number of units in the next block."""
        assert isinstance(statistics, Statistics)
        return self.next_block(statistics).size

    def fold_block(
        self, statistics: Statistics, block: Sequence[ArmStatistics], look: bool = True
    ) -> Statistics:
        """Return the statistics after a further block, with newly beaten arms dropped."""
        (arms, pairs), params = self.rows(statistics), self.params
        for arm, new in zip(arms, block, strict=True):
            sums = {BLOCK_SUM: new.total, BLOCK_SQUARES: new.squares, BLOCK_CUBES: new.cubes}
            arm[BLOCK_UNITS] = float(new.units)
            for column, value in sums.items():
                if column < len(arm):
                    arm[column] = value
            arm[BLOCK_PER : BLOCK_PER + len(new.per)] = new.per
        self.steps.fold(arms, pairs, self.arms, params)
        if look:
            self.steps.drop(arms, pairs, self.arms, params)
        out = frozenset(i for i, arm in enumerate(arms) if arm[ACTIVE] == 0.0)
        return replace(
            statistics.with_block(block),
            dropped=out - statistics.removed,
            pairs=tuple(map(tuple, pairs)),
        )

    def rows(self, statistics: AnyStatistics) -> tuple[LiveRows, LiveRows]:
        """Return the numbers of each arm and of each pair as rows, the input of `steps`."""
        self.check(statistics)
        assert isinstance(statistics, Statistics)
        out, width = statistics.out, self.evidence.arm_columns
        arms = []
        for i, arm in enumerate(statistics.arms):
            linearised = arm.linearised
            row = [float(arm.units), 0.0 if i in out else 1.0, 0.0, 0.0, 0.0]
            row += [0.0, linearised.total, linearised.squares, 0.0, linearised.cubes]
            if width > len(row):
                row += [0.0] * (RAW - BLOCK_PER)
                row += [arm.total, arm.squares, arm.cubes, *(arm.per or NO_PRODUCTS)]
            arms.append(row[:width])
        if statistics.pairs:
            columns = {len(pair) for pair in statistics.pairs}
            if columns != {self.evidence.pair_columns}:
                raise invalid(
                    f"statistics have {min(columns)} numbers for a pair of arms, and "
                    f'"{self.evidence.name}" has {self.evidence.pair_columns}: they come from '
                    "another design, or another version of bascule, with which to finish the test"
                )
            return arms, [list(pair) for pair in statistics.pairs]
        pairs = self.arms * (self.arms - 1) // 2
        return arms, [[0.0] * self.evidence.pair_columns for _ in range(pairs)]

    # Ends

    def winner(self, statistics: AnyStatistics) -> int:
        """Return the last active arm, `NO_DIFFERENCE` or `NOBODY`."""
        return self.steps.winner(*self.rows(statistics), self.arms, self.margin, self.params)

    def end_reason(self, statistics: AnyStatistics) -> EndReason | None:
        """Return why the test ends without a decision, or None while it goes on."""
        return END_REASONS[self.steps.over(*self.rows(statistics), self.arms, self.params)]

    def is_futile(self, statistics: AnyStatistics) -> bool:
        """Return whether the conditional power at the planned effect is too small to go on."""
        if self.horizon is None or self.horizon.futility == 0.0:
            return False
        params = self._params(futility=True)
        return self.steps.over(*self.rows(statistics), self.arms, params) == FUTILE

    def horizon_share(self, statistics: AnyStatistics) -> float:
        """Return the completed fraction of the test up to its horizon, if it stays undecided.

        An undecided test ends when every active arm has a pair at its horizon, or with `first_ends`
        when the first pair is at its horizon.
        """
        if self.horizon is None:
            return 0.0
        (arms, pairs), params = self.rows(statistics), self.params
        shared = self.evidence.shared(arms, self.arms, params)
        shares = {}
        for i, j in combinations(self._active(statistics), 2):
            pair = pairs[pair_index(self.arms, i, j)]
            left = self.evidence.remaining(pair, arms[i], arms[j], shared, 0.0, params)
            shares[i, j] = pair[CLOCK] / (pair[CLOCK] + max(0.0, left)) if pair[CLOCK] else 0.0
        return min(1.0, self._at_end(shares))

    def _at_end(self, shares: Mapping[tuple[int, int], float]) -> float:
        """Return the value of the pair whose horizon ends the test, given values of all pairs."""
        arms = {arm for pair in shares for arm in pair}
        furthest = [max(shares[pair] for pair in shares if arm in pair) for arm in arms]
        return (max if self.evidence.first_ends else min)(furthest, default=0.0)

    def prospects(self, statistics: AnyStatistics, arm: int) -> list[Prospect]:
        """Return an arm's lead over each active rival, and the lead it needs; empty if unknown."""
        if self.horizon is None:
            return []
        # With a futility above 0 every family computes the distance to its boundary.
        (arms, pairs), params = self.rows(statistics), self.params._replace(futility=1.0)
        shared, nearness, rivals = self.evidence.shared(arms, self.arms, params), {}, []
        for i, j in combinations(self._active(statistics), 2):
            row = pairs[pair_index(self.arms, i, j)], arms[i], arms[j]
            sign = 1.0 if arm == i else -1.0
            left, room = self.evidence.outlook(*row, sign, shared, params)
            clock, rest = row[0][CLOCK], self.evidence.remaining(*row, shared, 0.0, params)
            if clock == 0.0 or not 0.0 < left < math.inf or rest <= 0.0:
                return []
            nearness[i, j] = -rest
            if arm in (i, j):
                # The root of the information so far is the planned effect in standard errors.
                planned = math.sqrt(left * clock / rest)
                ahead = sign * row[0][TOTAL] / clock / params.effect * planned
                rivals.append(Prospect(clock, rest, ahead, room / planned, planned))
        return [rival._replace(left=-self._at_end(nearness)) for rival in rivals]

    def _active(self, statistics: AnyStatistics) -> list[int]:
        return [arm for arm in range(self.arms) if arm not in statistics.out]

    def blocks_left(self, statistics: AnyStatistics, block: Block, under_way: OpenBlocks) -> float:
        """Return how many blocks like `block` are left until the horizon, after those under way.

        It is infinite without a horizon, and while the horizon cannot be estimated.
        """
        arms, pairs = self.rows(statistics)
        for arm, units in zip(arms, block.units, strict=True):
            arm[BLOCK_UNITS] = float(units)
        rounds = 1 if self.evidence.split else self.batch
        pending = [0.0] * len(pairs)
        for front, units, count in under_way:
            ahead, even = units * rounds / (units + rounds), rounds / 2
            for at, pair in enumerate(combinations(range(self.arms), 2)):
                pending[at] += block.repeat * count * (ahead if front in pair else even)
        left = self.steps.blocks_left(arms, pairs, self.arms, pending, self.params)
        return left / block.repeat

    # Intervals

    def compared(self, statistics: AnyStatistics) -> list[tuple[int, int]]:
        """Return the pairs to list: all, or with many arms those with the control or the leader."""
        pairs = list(combinations(range(self.arms), 2))
        if self.arms <= MOST_ARMS:
            return pairs
        leader, _ = self.steps.leader(*self.rows(statistics), self.arms, self.params)
        listed = {self.design.arms.index(self.design.control_arm), leader}
        return [pair for pair in pairs if listed & set(pair)]

    def differences(
        self, statistics: AnyStatistics, pairs: Sequence[tuple[int, int]] | None = None
    ) -> list[Difference]:
        """Return the differences and intervals of `pairs`, or else of all pairs in `compared`."""
        listed = self.compared(statistics) if pairs is None else pairs
        rows, params, scale = self.rows(statistics), self.params, self.outcome.scale
        intervals = (self.steps.interval(*rows, self.arms, i, j, params) for i, j in listed)
        return [
            (float(scale * middle), float(scale * low), float(scale * high))
            for middle, low, high in intervals
        ]

    def advantages(self, statistics: AnyStatistics, control: int) -> list[Difference]:
        """Return by how much each arm is better than the control, with its interval."""
        pairs = [(arm, control) for arm in range(self.arms) if arm != control]
        intervals = self.differences(statistics, pairs)
        return [*intervals[:control], (0.0, 0.0, 0.0), *intervals[control:]]

    def boundary(self, clock: float) -> float | None:
        """Return the total of a pair at which one arm has won; None if no total alone decides."""
        line = self.evidence.boundary
        return None if line is None else line(clock, self.params)
