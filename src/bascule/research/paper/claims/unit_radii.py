"""The paper's claims about radii in the unit setting: how many units an arm needs, computed.

An arm needs so many units that its radius is half the gap. The noise enters Algorithm 2's radius
twice: its variance adds units, which the paper counts; and inside the logarithm more noise means
fewer units. docs/research/two-estimators.md has the algebra.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bascule.core.evidence.radius import FIRST_UNITS, radius
from bascule.core.numerics import first_after
from bascule.core.procedures.recurrent import (
    UnitRadius,
    algorithm_2_radius,
    alternative_radius,
    noise_share,
)
from bascule.core.rules import UCB
from bascule.research.paper.claims.claim import Finding, Measured, exactly
from bascule.research.paper.claims.judging import near
from bascule.research.paper.measure import Measurements
from bascule.research.paper.units import ARMS, GAP, MIDDLE, OUTCOME
from bascule.simulation import Estimate

FAR, FURTHEST = 1e4, 1e10
"""Values of log(1/delta) large enough to show what the paper claims asymptotically."""

SOME_UNITS = 100
NOISES = (1.0, 2.0)
"""Standard deviations of the noise, if the standard deviation between units is 1."""

HALF_GAP, SMALL_GAP = GAP / 2, GAP / 10


def units_until(radius_of: Callable[[float], float], width: float) -> float:
    """Return the real n from which on a decreasing radius is below `width`.

    >>> round(units_until(lambda n: 1.0 / n, 0.01))
    100
    """
    return first_after(lambda n: radius_of(n) > width, float(FIRST_UNITS))


def needed(
    radius_of: UnitRadius, log_inverse_delta: float, gap: float = GAP, noise: float = 1.0
) -> float:
    """Return the units that an arm needs if sigma is 1 between units and `noise` within them.

    >>> round(needed(algorithm_2_radius, 12.0))
    385
    """
    return units_until(lambda n: radius_of(n, n, 1.0, noise, log_inverse_delta), gap / 2)


def additional(log_inverse_delta: float, gap: float = GAP, noise: float = 1.0) -> float:
    """Return the units that Algorithm 2 needs in addition because of the noise's variance.

    >>> round(additional(12.0), 1)
    7.6
    """

    def without(n: float) -> float:
        radius = algorithm_2_radius(n, n, 1.0, noise, log_inverse_delta)
        return radius / math.sqrt(1.0 + noise**2 * noise_share(n))

    return needed(algorithm_2_radius, log_inverse_delta, gap, noise) - units_until(without, gap / 2)


def additional_alternative(log_inverse_delta: float, noise: float = 1.0) -> float:
    """Return the additional units due to noise with the alternative radius."""
    with_noise, without = (
        needed(alternative_radius, log_inverse_delta, GAP, s) for s in (noise, 0.0)
    )
    return with_noise - without


def growths() -> dict[float, float]:
    """Return the slope of the additional units in log log(1/delta), for each of `NOISES`."""
    return {
        noise: (additional(FURTHEST, GAP, noise) - additional(FAR, GAP, noise))
        / math.log(FURTHEST / FAR)
        for noise in NOISES
    }


def _log_log(power: int, words: str, more: tuple[Measured, ...] = ()) -> Finding:
    """Judge a claim that the additional units grow by this power of the noise's spread."""
    share, found = 0.05, growths()
    rows = tuple(
        Measured(
            f"units added per unit of log log(1/δ), from log(1/δ) = {FAR:.0e} to {FURTHEST:.0e}, "
            f"σ_r = 1, σ_ε = {noise:g}",
            units,
        )
        for noise, units in found.items()
    )
    return Finding(
        (*more, *rows),
        f"each of the last {len(rows)} numbers is within {share:.0%} of {words}",
        exactly(
            all(math.isclose(units, noise**power, rel_tol=share) for noise, units in found.items())
        ),
    )


def log_log(m: Measurements) -> Finding:
    """Judge the claim that noise adds units in proportion to its variance and log log(1/delta)."""
    del m
    more = (
        Measured(
            f"units that an arm needs at log(1/δ) = {MIDDLE:g}", needed(algorithm_2_radius, MIDDLE)
        ),
        Measured("of these, added by the variance of the noise", additional(MIDDLE)),
    )
    return _log_log(2, "σ_ε²/σ_r²", more)


def log_log_as_printed(m: Measurements) -> Finding:
    """Judge the printed claim that noise adds units like log log(1/delta) over its variance."""
    del m
    return _log_log(-2, "σ_r²/σ_ε², as the theorems print it")


def gap_does_not_matter(m: Measurements) -> Finding:
    """Judge the claim that the units added by noise do not depend on the gap, in the limit."""
    del m
    share = 0.1
    ratios = {
        level: additional(level, HALF_GAP) / additional(level) for level in (MIDDLE, FURTHEST)
    }
    doubled = {
        gap: needed(algorithm_2_radius, MIDDLE, gap, 2.0) - needed(algorithm_2_radius, MIDDLE, gap)
        for gap in (GAP, SMALL_GAP)
    }
    return Finding(
        (
            *(
                Measured(
                    f"units added at half the gap over those at the gap, log(1/δ) = {level:g}",
                    ratio,
                )
                for level, ratio in ratios.items()
            ),
            *(
                Measured(
                    f"units more in all when the noise doubles, gap {gap:g}, log(1/δ) = {MIDDLE:g}",
                    units,
                )
                for gap, units in doubled.items()
            ),
        ),
        f"at log(1/δ) = {FURTHEST:g} the ratio is within {share:.0%} of 1; the other numbers are "
        "not judged: at δ that one uses, a small gap and more noise can even save units, since "
        "Algorithm 2's logarithm falls with the noise",
        near(Estimate(ratios[FURTHEST], 0.0), 1.0, share),
    )


def void_without_noise(m: Measurements) -> Finding:
    """Judge the claim that Algorithm 2's radius has no limit as the noise vanishes."""
    del m
    noises = (1.0, 1e-100, 1e-200, 1e-300)
    radii = [_at_some_units(algorithm_2_radius, MIDDLE, noise) for noise in noises]
    first, second = (radii[k + 1] ** 2 - radii[k] ** 2 for k in (1, 2))
    return Finding(
        tuple(
            Measured(
                f"radius of {SOME_UNITS} units at log(1/δ) = {MIDDLE:g}, σ_ε = {noise:g}", radius
            )
            for noise, radius in zip(noises, radii, strict=True)
        ),
        "with each factor of 1e-100 the square of the radius grows by the same amount, so without "
        "end, if slowly",
        exactly(first > 0.0 and math.isclose(first, second, rel_tol=1e-6)),
    )


def alternative_limit(m: Measurements) -> Finding:
    """Judge the claim that the alternative radius without noise tends to the i.i.d. radius."""
    del m
    share, levels = 0.05, (MIDDLE, 10 * MIDDLE)
    shape = UCB().shape(len(ARMS))
    ratios = [
        _at_some_units(alternative_radius, level, 0.0)
        / radius(SOME_UNITS, OUTCOME.sigma_unit, shape.factor, shape.count, math.exp(-level))
        for level in levels
    ]
    return Finding(
        tuple(
            Measured(
                f"without noise, over UCB's radius, {SOME_UNITS} units, log(1/δ) = {level:g}", ratio
            )
            for level, ratio in zip(levels, ratios, strict=True)
        ),
        f"the ratio is within {share:.0%} of 1 and comes closer as δ falls; it is not 1, since the "
        "alternative has 9 log² n where UCB has 3 log² n",
        exactly(
            near(Estimate(ratios[0], 0.0), 1.0, share) == "holds"
            and abs(ratios[1] - 1.0) < abs(ratios[0] - 1.0)
        ),
    )


def root_log(m: Measurements) -> Finding:
    """Judge the claim that noise adds units like sqrt(log(1/delta)) with the alternative radius."""
    del m
    share = 0.1
    power = math.log(additional_alternative(FURTHEST) / additional_alternative(FAR)) / math.log(
        FURTHEST / FAR
    )
    return Finding(
        (
            Measured(f"power of log(1/δ) from {FAR:.0e} to {FURTHEST:.0e}", power),
            Measured(f"units added at log(1/δ) = {MIDDLE:g}", additional_alternative(MIDDLE)),
            Measured(
                f"units needed in all at log(1/δ) = {MIDDLE:g}", needed(alternative_radius, MIDDLE)
            ),
            Measured("the same with Algorithm 2's radius", needed(algorithm_2_radius, MIDDLE)),
        ),
        f"the power is within {share:.0%} of 1/2, which leaves room for the log log n under the "
        "root; the units are not judged",
        near(Estimate(power, 0.0), 0.5, share),
    )


def root_log_as_printed(m: Measurements) -> Finding:
    """Judge the printed claim on the alternative radius: the units added fall as noise grows."""
    del m
    share = 0.1
    added = {noise: additional_alternative(FURTHEST, noise) for noise in NOISES}
    first, second = added.values()
    return Finding(
        (
            *(
                Measured(f"units added at log(1/δ) = {FURTHEST:.0e}, σ_ε = {noise:g}", units)
                for noise, units in added.items()
            ),
            Measured("the second over the first", second / first),
        ),
        f"the ratio is within {share:.0%} of 1/4, as σ_r²/σ_ε² √log(1/δ) has it; with σ_ε in its "
        "place it is 2",
        near(Estimate(second / first, 0.0), 0.25, share),
    )


def _at_some_units(radius_of: UnitRadius, log_inverse_delta: float, noise: float) -> float:
    return radius_of(SOME_UNITS, SOME_UNITS, OUTCOME.sigma_unit, noise, log_inverse_delta)
