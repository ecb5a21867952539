"""Checks of a log for problems that do not show in its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from bascule.analysis.log.rows import OF_ASSIGNMENTS, REASONS
from bascule.analysis.log.times import TimeKind
from bascule.analysis.reduce.blocks import Block
from bascule.analysis.reduce.moments import PLACE
from bascule.analysis.reduce.sums import IN_TWO_ARMS, ReducedTable, Sums
from bascule.analysis.request import Reduced, Unfit, Valueless
from bascule.analysis.result import Check
from bascule.analysis.source.places import RAGGED_LINE
from bascule.core.approximate import percent
from bascule.core.diagnostics import Diagnostic
from bascule.core.diagnostics.drift import trend
from bascule.core.diagnostics.result import chi_square_tail, normal_tails, p_at_look, shown
from bascule.core.evidence.spread import FEWEST_UNITS, larger_variances, squares_about_mean
from bascule.core.metrics.effects import Effect
from bascule.core.outcomes import Outcome
from bascule.core.types import FloatArray

LEVEL = 0.01


MANY_IN_TWO_ARMS = 0.001
MANY_ROWS = 0.01
MUCH_LATE = 0.05

MISSING_CODES = (-99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0)
"""Numbers that often stand for missing values."""

FAR = 10.0
"""Minimum ratio of a highest outcome to the mean of all, if it stands for a missing value."""

ENOUGH_TO_MISS = 10
"""A day without units is reported if this many were expected: by chance, 1 day in 20,000."""


def looks_words(p_value: float, once: float) -> str:
    """Return as text a p-value for any number of looks and, if different, that of a single look.

    >>> looks_words(0.31, 0.0086), looks_words(0.5, 0.5)
    ('p = 0.31 however often you look; p = 0.0086 if this is the only look', 'p = 0.5')
    """
    if shown(p_value) == shown(once):
        return shown(p_value)
    return f"{shown(p_value)} however often you look; {shown(once)} if this is the only look"


def homogeneity(counts: FloatArray) -> tuple[float, int]:
    """Return Pearson's statistic for equal shares in all rows, and its degrees of freedom.

    Rows and columns without a unit are left out. The mean of the statistic equals the degrees of
    freedom exactly, if every order of the units is equally likely.

    >>> homogeneity(np.array([[10.0, 10.0], [10.0, 10.0]]))
    (0.0, 1)
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, arms = counts.shape
    total = float(counts.sum())
    if rows < 2 or arms < 2:
        return 0.0, 0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic * (total - 1.0) / total, (rows - 1) * (arms - 1)


def missing_outcomes(
    arms: Sequence[str], valueless: Mapping[int, Valueless], days: int
) -> list[Check]:
    """Check whether the share of units without a value differs by arm; empty if all have values.

    The p-value holds for a look at the end of each of the days.

    >>> missing = {0: Valueless(1000, 10), 1: Valueless(1000, 60)}
    >>> missing_outcomes(["a", "b"], missing, days=7)[0].flagged
    True
    """
    each_arm = [valueless.get(i, Valueless(0, 0)) for i in range(len(arms))]
    units = np.array([arm.units for arm in each_arm], float)
    without = np.array([arm.without for arm in each_arm], float)
    if not without.any():
        return []
    off, free = homogeneity(np.array([without, units - without]))
    once = chi_square_tail(off, free) if free else 1.0
    p_value = p_at_look(once, days)
    shares = ", ".join(
        f"{arm} {100 * without[i] / units[i]:.3g} %" for i, arm in enumerate(arms) if units[i]
    )
    count = int(without.sum())
    units_have = "1 unit has" if count == 1 else f"{count:,} units have"
    message = f"{units_have} no value ({shares}; {looks_words(p_value, once)})"
    if p_value <= LEVEL:
        message += ": arms differ in who has a value, so find out why before you trust a comparison"
    return [Check("missing outcomes", p_value <= LEVEL, message, p_value)]


def outcome_values(model: Outcome | None, unfit: Unfit | None) -> list[Check]:
    """Check outcomes against a model that requires more than limits, such as whole numbers.

    >>> outcome_values(None, None)
    []
    """
    if model is None:
        return []
    if unfit is None:
        return [Check("outcome values", False, f"all outcomes fit {model.words}")]
    count = "1 outcome does" if unfit.units == 1 else f"{unfit.units:,} outcomes do"
    message = f"{count} not fit {model.words} and still count: {unfit.reason}"
    return [Check("outcome values", True, message)]


def rows_read(reduced: Reduced) -> list[Check]:
    """Check for unusable rows, duplicated rows, and entries that had to be interpreted.

    A check is flagged if it concerns more than 1 % of the rows. Exact copies are always flagged if
    each unit has only one row apart from them.
    """
    known = (*REASONS, RAGGED_LINE)
    bad = {
        reason: n
        for reason, n in reduced.excluded.items()
        if reason.removesuffix(OF_ASSIGNMENTS) in known
    }
    listed = ", ".join(f"{n:,} {reason}{_such_as(reduced, reason)}" for reason, n in bad.items())
    if bad.get("no arm", 0) > reduced.rows / 2:
        listed += "; if cells were merged, fill in the arm of every row"
    made = [_of_rows("unusable rows", reduced, sum(bad.values()), "excluded", listed)]
    if reduced.spelled.respelled:
        listed = ", ".join(
            f"{text!r} ({n:,})" for text, n in list(reduced.spelled.respelled.items())[:4]
        )
        respelled = sum(reduced.spelled.respelled.values())
        verb = "counted as the arm of that name in other case or spacing"
        made.append(_of_rows("arm names", reduced, respelled, verb, listed))
    if reduced.worded:
        verb = "words such as yes and no among numbers, counted as 1 and 0"
        made.append(_of_rows("words for numbers", reduced, reduced.worded, verb, ""))
    if reduced.duplicates is not None:
        verb = (
            "exact copies of other rows; all are counted (the `query` SELECT DISTINCT * FROM log "
            "leaves one of each)"
        )
        copies = reduced.only_copies
        made.append(_of_rows("copies of rows", reduced, reduced.duplicates, verb, "", few=copies))
    elif reduced.reading.unit is not None:
        made.append(
            Check("copies of rows", False, "the log is too long to compare all rows", made=False)
        )
    return made


def _of_rows(
    name: str, reduced: Reduced, count: int, verb: str, listed: str, *, few: bool = False
) -> Check:
    if not count:
        return Check(name, False, "there are none")
    share = count / max(reduced.rows, 1)
    rows = "1 row" if count == 1 else f"{count:,} rows"
    message = f"{rows} ({percent(share, 2)}): {verb}" + (f": {listed}" if listed else "")
    return Check(name, few or share > MANY_ROWS, message)


def _such_as(reduced: Reduced, reason: str) -> str:
    examples = reduced.examples.get(reason, ())
    return f" (such as {', '.join(repr(example) for example in examples)})" if examples else ""


FEW_MATCHES = 0.5
MATCHES = "matched events"


def matches(reduced: Reduced) -> list[Check]:
    """Check that most events belong to assigned units; no check if all of them do."""
    strangers = sum(n for reason, n in reduced.excluded.items() if reason.startswith(STRANGER))
    if not strangers:
        return []
    share = reduced.table.events / (reduced.table.events + strangers)
    message = f"{percent(share, 2)} of the events belong to units of the assignments"
    if share < FEW_MATCHES:
        message += ": is the unit the column that both tables have?"
    return [Check(MATCHES, share < FEW_MATCHES, message)]


STRANGER = "event of an unknown unit"


def two_arms(reduced: Reduced, units: int) -> Check:
    """Check for units that were seen in more than one arm."""
    excluded, moved = reduced.table.excluded.get(IN_TWO_ARMS, 0), reduced.table.moved
    count = excluded + moved
    if count == 0:
        return Check("units in two arms", False, "no unit was seen in two arms")
    share = count / (units + excluded)
    units_were = "1 unit was" if count == 1 else f"{count:,} units were"
    message = f"{units_were} seen in two arms ({percent(share, 2)})"
    message += _such_as(reduced, IN_TWO_ARMS)
    if moved:
        message += f"; {moved:,} of them count for the arm that they met first"
    if excluded:
        message += f"; {excluded:,} of them are excluded"
    if share > MANY_IN_TWO_ARMS:
        message += ": find out how units change arms before you trust a comparison"
    return Check("units in two arms", share > MANY_IN_TWO_ARMS, message)


def two_values(sums: Sums, value: str | None) -> list[Check]:
    """Check for outcomes with only two values, the lower one not 0: they may be codes."""
    ends = sums.two_values
    if ends is None or value is None:
        return []
    low, high = ends
    message = (
        f"every outcome is {low:.15g} or {high:.15g}: if these are codes, lifts have no meaning; "
        f"for the share with {high:.15g}, take the metric '{value}={high:.15g}'"
    )
    return [Check("two values", True, message)]


def drift(sums: Sums, arms: Sequence[str], mature: int) -> list[Check]:
    """Check the outcomes of each arm for a trend over the days or blocks of arrival.

    The outcomes of the first `mature` ones are known. Those that still grow are compared as they
    stood on the day of arrival. The p-value holds for a look at the end of every day or block.
    """
    periods = sums.periods()[:mature]
    if not periods:
        return []
    return [_check(trend(periods, LEVEL).at_look(len(periods)), arms)]


def sparse_days(sums: Sums, blocks: Sums, arms: Sequence[str], block: Block) -> list[Check]:
    """Check how many units cannot be compared because their block lacks the other arm of a pair.

    >>> from datetime import date
    >>> days = tuple(date(2026, 3, d) for d in (2, 3, 4))
    >>> n = np.array([[5.0, 0.0], [0.0, 5.0], [5.0, 5.0]])
    >>> check = sparse_days(Sums(days, n, n, n, n, n), Sums(days, n, n, n, n, n), "ab", "day")[0]
    >>> check.message.split(":")[0]
    '50 % of the units of a and b came in a day without the other arm'
    """
    if len(sums.days) < 2:
        return []
    worst, worst_pair = 0.0, (0, 1)
    for i, j in combinations(range(len(arms)), 2):
        n, m = blocks.units[:, i], blocks.units[:, j]
        if n.sum() > 0 and m.sum() > 0:
            share = float((n[m == 0].sum() + m[n == 0].sum()) / (n.sum() + m.sum()))
            worst, worst_pair = max((worst, worst_pair), (share, (i, j)))
    name = "lone arms"
    if worst == 0.0:
        return []
    kept, weekly = (_kept(part, *worst_pair) for part in (blocks, sums.merged("week")))
    message = (
        f"{100 * worst:.3g} % of the units of {arms[worst_pair[0]]} and {arms[worst_pair[1]]} came "
        f"in a {block} without the other arm: nothing is compared there, and {100 * kept:.3g} % of "
        "the information is used"
    )
    if block == "day" and weekly > kept:
        message += f'; block="week" would use {100 * weekly:.3g} %'
    return [Check(name, worst > MANY_ROWS, message)]


def _kept(sums: Sums, i: int, j: int) -> float:
    """Return the share of the information on two arms that a comparison within blocks keeps."""
    n, m = sums.units[:, i], sums.units[:, j]
    pooled = n.sum() * m.sum() / (n.sum() + m.sum())
    return float((n * m / np.maximum(n + m, 1.0)).sum() / pooled)


def gaps(sums: Sums, times: TimeKind) -> Check:
    """Check for days with no or hardly any arrivals, or none in some arm, where many were expected.

    The expected number is the mean of the three days before and the three days after a day.
    """
    if times == "none":
        return Check("gaps", False, "the log has no times", made=False)
    sizes = sums.units.sum(axis=1)
    empty, thin, switched = [], [], []
    # Days after the last arrival are not missing.
    until = int(np.flatnonzero(sizes)[-1]) + 1 if sizes.any() else 0
    for place, day in enumerate(sums.days[:until]):
        near = np.r_[sizes[max(0, place - 3) : place], sizes[place + 1 : place + 4]]
        usual = float(near.mean()) if len(near) else 0.0
        # The first and the last day may be incomplete.
        inside = 0 < place < len(sums.days) - 1
        if sizes[place] == 0 and usual >= ENOUGH_TO_MISS:
            empty.append(day)
        elif inside and usual >= 5 * ENOUGH_TO_MISS and sizes[place] < 0.1 * usual:
            thin.append(day)
        elif (
            sizes[place] >= ENOUGH_TO_MISS * len(sums.units[place]) and not sums.units[place].all()
        ):
            switched.append(day)
    if empty:
        return Check("gaps", True, f"nobody arrived on {_days(empty)}: is a part of the log lost?")
    if switched:
        return Check("gaps", True, f"an arm got nobody on {_days(switched)}: was it switched off?")
    if thin:
        return Check("gaps", True, f"hardly anybody arrived on {_days(thin)}: is the log complete?")
    return Check("gaps", False, "no day is missing")


def extremes(sums: Sums, arms: Sequence[str], effects: Sequence[Effect]) -> Check:
    """Check for outcomes that cause a difference, are rows of totals, or stand for missing values.

    An outcome is large if it moves the mean of its arm by more than a quarter of the uncertainty of
    a difference. This uncertainty is the smallest half-width of the intervals, or two standard
    errors of a difference if that is less.
    """
    name = "extreme values"
    if sums.zero_or_one:
        return Check(name, False, "every outcome is 0 or 1")
    units, totals = sums.units.sum(axis=0), sums.totals.sum(axis=0)
    about = squares_about_mean(units, totals, sums.squares.sum(axis=0))
    noise = about / np.maximum(units * (units - 1.0), 1.0)
    widths = [0.5 * (effect.high - effect.low) for effect in effects]
    widths += [
        2.0 * float(np.sqrt(noise[i] + noise[j])) for i, j in combinations(range(len(arms)), 2)
    ]
    width = min((w for w in widths if np.isfinite(w)), default=np.inf)
    lowest, highest = float(sums.lows.min()), float(sums.highs.max())
    mean = abs(float(totals.sum())) / max(float(units.sum()), 1.0)
    codes = {"lowest": lowest} if lowest < 0.0 and lowest in MISSING_CODES else {}
    codes |= {"highest": highest} if highest >= FAR * mean and highest in MISSING_CODES else {}
    remarks = [
        f"the {end} outcome is {code:g}, which often stands for a value that is missing: if it "
        "does here, leave these entries blank"
        for end, code in codes.items()
    ]
    worst, row, value = 0.0, 0, 0.0
    for i in range(len(arms)):
        # Where outcomes grow, the lowest are those of units that have just arrived.
        low = () if sums.growth is not None else (float(sums.lows[:, i].min()),)
        for end in (float(sums.highs[:, i].max()), *low):
            moved = abs(end - totals[i] / units[i]) / units[i] if units[i] >= 2 else 0.0
            if moved > worst and end not in codes.values():
                worst, row, value = float(moved), i, end
    others = (float(totals[row]) - value, float(totals.sum()) - value)
    if units[row] >= FEWEST_UNITS and any(
        abs(rest - value) <= 1e-9 * abs(value) for rest in others
    ):
        remarks.append(
            f"one unit of {arms[row]} has an outcome of {value:.4g}, which is the sum of all "
            "others: if it is a row of totals, leave it out"
        )
    elif worst > 0.25 * width:
        remarks.append(
            f"one unit of {arms[row]} has an outcome of {value:.4g}, which moves its mean by "
            f"{worst:.3g}: look at it, or set limits that cap such outcomes"
        )
    return Check(
        name, bool(remarks), "; ".join(remarks) or "no single outcome carries a difference"
    )


def covariate_balance(arms: Sequence[str], sums: Sums, covariate: str) -> Check:
    """Check that all arms have the same mean of a covariate, as they must if it predates the test.

    Units are compared with those that came on the same day. The p-value holds for a look at the end
    of every day.
    """
    assert sums.moments is not None
    n, x, squares = (sums.moments[:, :, PLACE[0, 0, degree]] for degree in range(3))
    totals = n.sum(axis=0)
    about = squares_about_mean(totals, x.sum(axis=0), squares.sum(axis=0))
    means = x.sum(axis=0) / np.maximum(totals, 1.0)
    pairs = [
        pair
        for pair in combinations(range(len(arms)), 2)
        if min(totals[[*pair]]) >= FEWEST_UNITS and about[[*pair]].sum() > 0.0
    ]
    name = "covariate balance"
    if not pairs:
        return Check(
            name,
            False,
            f"{covariate} does not vary, or there are too few units to compare it",
            made=False,
        )
    worst, worst_pair = -1.0, pairs[0]
    for i, j in pairs:
        present = (n[:, i] > 0) & (n[:, j] > 0)
        m, k = n[present, i], n[present, j]
        weight = m * k / (m + k)
        # In a small arm, all values of a skewed covariate may be 0 and show no variance.
        mine, theirs = larger_variances(totals[i], about[i], totals[j], about[j])
        noise = float((weight**2 * (mine / m + theirs / k)).sum())
        total = float((weight * (x[present, i] / m - x[present, j] / k)).sum())
        z = abs(total) / np.sqrt(noise) if noise > 0.0 else 0.0
        if z > worst:
            worst, worst_pair = z, (i, j)
    once, days = min(1.0, len(pairs) * normal_tails(worst)), len(sums.days)
    p_value = p_at_look(once, days)
    if p_value > LEVEL:
        words = looks_words(p_value, once)
        message = f"no difference of {covariate} between arms was found ({words})"
        return Check(name, False, message, p_value)
    i, j = worst_pair
    message = (
        f"{covariate} is {means[i]:.4g} on average in {arms[i]} and {means[j]:.4g} in {arms[j]} "
        f"({shown(p_value)}): if it was measured after assignment, the adjustment removes part of "
        "the effect or adds a false one; leave it out, or find out how units were assigned"
    )
    return Check(name, True, message, p_value)


def of_single_outcomes(sums: Sums) -> list[Check]:
    """Return the checks of single outcomes, as not made, for a log that has only sums."""
    message = "the log has sums, in which single outcomes are not seen"
    made = [] if sums.zero_or_one else [Check("extreme values", False, message, made=False)]
    if sums.cubes is None:
        message = (
            "skewness cannot be seen in sums of squares: if a few outcomes are much larger than "
            "all others, trust intervals and decision only with very many units"
        )
        made.append(Check("skewed outcomes", False, message, made=False))
    return made


def late_events(table: ReducedTable) -> Check:
    """Check how many events came after the windows of their units."""
    if table.late == 0:
        return Check("late outcomes", False, "no events after the windows of their units")
    share = table.late / max(table.events, table.late)
    message = (
        f"{table.late:,} events, {percent(share, 2)} of all, came after the windows of their units "
        "and do not count"
    )
    if share > MUCH_LATE:
        message += ": a longer window would count them"
    return Check("late outcomes", share > MUCH_LATE, message)


def _check(diagnostic: Diagnostic, arms: Sequence[str]) -> Check:
    # A diagnostic without anything to compare has a statistic of exactly 0 and a p-value of 1.
    made = diagnostic.statistic != 0.0 or diagnostic.p_value < 1.0
    p_value = diagnostic.p_value if made else None
    return Check(diagnostic.name, diagnostic.flagged, diagnostic.named(arms).message, p_value, made)


def _days(days: Sequence[object]) -> str:
    shown = ", ".join(str(day) for day in days[:3])
    return shown + (f" and {len(days) - 3} more days" if len(days) > 3 else "")
