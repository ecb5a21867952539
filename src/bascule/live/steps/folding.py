"""Mature units enter the statistics, in the order in which they were assigned. Pure functions.

The order is what the proofs ask for: the n-th outcome of an arm is that of its n-th unit, however
long each took, so that neither quick nor slow outcomes are preferred. docs/explanation/live.md
"""

from __future__ import annotations

from dataclasses import replace

from bascule.core.design import Design
from bascule.core.ends import remove_arm
from bascule.core.procedures.base import AnyStatistics
from bascule.core.progress import decision, fold_block, record
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.storage.state import Deal, Standing, Verdict


def fold_unit(
    design: Design, standing: Standing, deal: Deal | None, arm: int, value: float, now: float
) -> Standing:
    """Where the test stands when the next unit has given its outcome.

    `deal` is the block that the unit belongs to, in tests that have blocks.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> fold_unit(design, Standing.empty(design), None, 1, 0.5, now=0.0).statistics.units
    1
    """
    folded = standing.folded + 1
    if deal is None:
        seen = record(design, standing.once, arm, value)
        return announced(design, standing._replace(statistics=seen, folded=folded), now)
    sums = list(standing.open)
    sums[arm] = sums[arm] + ArmStatistics(1, value, value * value)
    if standing.folding != deal.number:
        standing = standing._replace(folding=deal.number, part=0)
    return close_parts(design, standing._replace(open=tuple(sums), folded=folded), deal, now)


def close_parts(design: Design, standing: Standing, deal: Deal, now: float) -> Standing:
    """Fold the parts of a block whose units are all there."""
    sizes = deal.sizes
    while standing.part < len(sizes) and (
        sum(arm.units for arm in standing.open) >= sizes[standing.part]
    ):
        last = standing.part == len(sizes) - 1
        seen = fold_block(design, standing.once, standing.open, look=last)
        empty = (ArmStatistics(),) * len(standing.open)
        standing = standing._replace(statistics=seen, open=empty, part=standing.part + 1)
        if last:
            standing = standing._replace(folding=deal.number + 1, part=0)
            return announced(design, standing, now)
    return standing


def take_out(
    design: Design, standing: Standing, name: str, deal: Deal | None, now: float
) -> tuple[Standing, Deal | None]:
    """The same without an arm, which gets none of the slots that are left of the current block.

    The other slots stay: between arms that are still in, sizes remain what they were dealt.
    """
    seen: AnyStatistics = (
        remove_arm(design, standing.once, name)
        if isinstance(standing.statistics, Statistics)
        else remove_arm(design, standing.statistics, name)
    )
    arm = design.arms.index(name)
    paused = tuple(other for other in standing.paused if other != arm)
    standing = standing._replace(statistics=seen, paused=paused)
    if deal is None:
        return announced(design, standing, now), None
    deal = replace(deal, struck=(*deal.struck, (arm, _dealt_slot(deal, standing.handed))))
    if standing.folding == deal.number and standing.handed:
        standing = close_parts(design, standing, deal, now)
    return announced(design, standing, now), deal


def _dealt_slot(deal: Deal, handed: int) -> int:
    """Which slot of all that were dealt comes after so many that were handed out."""
    slot = 0
    for arm in (arm for part in deal.parts for arm in part):
        if handed == 0:
            break
        if not any(arm == out and slot >= since for out, since in deal.struck):
            handed -= 1
        slot += 1
    return slot


def announced(design: Design, standing: Standing, now: float) -> Standing:
    """The same with the decision that the statistics allow, if it is the first."""
    if standing.verdict is not None:
        return standing
    reached = decision(design, standing.statistics)
    if reached is None:
        return standing
    return standing._replace(verdict=Verdict.of(reached, standing.folded, now))
