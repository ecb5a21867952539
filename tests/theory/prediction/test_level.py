"""The rows of `Ends` fulfil the conditions that define them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bascule as bs
from bascule.core.evidence.radius import radius
from bascule.core.evidence.two_arms import log_two_arms
from bascule.core.procedures.intervals.procedure import log_threshold
from bascule.theory.prediction.level import Ends, Radii, ends_of, radii_of, width_at_end


def ends(rule: object, gap: float, error: float = 0.05, wide: float = 1.0) -> tuple[Ends, Radii]:
    design = bs.Design(["a", "b"], bs.Gaussian(1), rule, error=error, sides=1)  # type: ignore[arg-type]
    radii = radii_of(design, wide)
    found = ends_of(design, radii, gap, wide)
    assert found is not None
    return found, radii


def test_radii_are_those_of_the_rule() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), delta=0.01)
    radii = radii_of(design)
    for units in (3, 17, 1234, 10**7):
        expected = radius(units, 1.0, 2.0, 3.0, 0.01)
        assert float(radii.at(float(units))) == pytest.approx(expected, rel=1e-3)
        assert float(radii.reaching(expected)) == pytest.approx(units, rel=2e-3)
    assert radii_of(design, 2.0).at(50.0) == pytest.approx(2 * radii.at(50.0))


@pytest.mark.parametrize("alpha", [1.2, 2.0, 32.0])
def test_intervals_part_where_indices_are_level(alpha: float) -> None:
    found, radii = ends(bs.UCB(alpha), 0.1)
    # The table of radii ends; beyond it nothing is level.
    known = found.better < 1e17
    of_worse, of_better = radii.at(found.worse)[known], radii.at(found.better)[known]
    assert alpha * (of_worse - of_better) == pytest.approx(found.lines[known], rel=1e-6)
    assert of_worse + of_better == pytest.approx(found.lines[known], rel=1e-6)
    assert (found.level == 1).all()
    assert found.fall == 1


@pytest.mark.parametrize(
    ("radius_name", "wide"), [("paper", 1.0), ("mixture", 1.0), ("paper", 2.0)]
)
def test_evidence_is_enough_where_indices_are_level(radius_name: str, wide: float) -> None:
    rule = bs.UCB(2, radius=radius_name, stop="mixture")  # type: ignore[arg-type]
    found, radii = ends(rule, 0.1, wide=wide)
    threshold = log_threshold(2, 0.05)
    for worse, better, line, level in zip(
        found.worse, found.better, found.lines, found.level, strict=True
    ):
        assert log_two_arms(line / wide, better, worse) == pytest.approx(threshold, abs=0.01)
        if level:
            between = float(radii.at(worse) - radii.at(better))
            assert 2 * between == pytest.approx(line, rel=1e-3)
        else:
            assert worse == 3
            assert 2 * float(radii.at(worse) - radii.at(better)) < line
    assert 0 <= found.fall < 1


@pytest.mark.parametrize(
    "rule",
    [bs.ETC(), bs.ETCPrime(), bs.ETC(stop="mixture"), bs.UCB(math.inf, stop="mixture")],
)
def test_an_even_split_stays_even(rule: object) -> None:
    found, _ = ends(rule, 0.3)
    assert found.better == pytest.approx(found.worse, rel=1e-9)


@pytest.mark.parametrize("rule", [bs.UCB(1.5), bs.ETC(), bs.UCB(2, stop="mixture")])
def test_rows_come_in_the_order_of_their_information(rule: object) -> None:
    found, _ = ends(rule, 0.1, error=0.4)
    assert (np.diff(found.clocks) > 0).all()
    assert found.clocks[0] >= 1.5
    typical = found.lines[found.typical]
    assert abs(typical - 0.1) == np.abs(found.lines - 0.1)[found.level == 1].min()


def test_tests_that_end_at_their_first_look_have_the_units_of_that_look() -> None:
    lines, better = ends(bs.UCB(2), 1.0)[0].first
    assert better[0] == 3
    assert (np.diff(better) > 0).all()
    assert (np.diff(lines) < 0).all()


def test_at_alpha_one_intervals_never_part() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(1), max_units=100, sides=1)
    assert ends_of(design, radii_of(design), 1.0) is None


def simulated_width(alpha: float, gap: float, runs: int) -> tuple[float, float]:
    """The last phase of UCB_alpha alone: mean width of the wedge at its end, and standard error.

    `x` is how far the difference of the means is beyond the line, `y` how much wider the better
    arm's radius is than it has to be, both times the units of the worse arm.
    """
    ratio = ((alpha + 1) / (alpha - 1)) ** 2
    radius = gap * (alpha - 1) / (2 * alpha)
    variance = max(ratio**-2, 0.01)
    closing = radius * ratio / 2 * variance
    generator = np.random.default_rng(0)
    x, y = np.full(runs, -10.0), np.full(runs, 10.0 / alpha)
    ended = []
    while x.size:
        behind = x <= -alpha * y
        noise = generator.standard_normal(x.size)
        x += np.where(behind, gap / 2 + noise, math.sqrt(variance) * noise)
        y += np.where(behind, radius / 2, -closing)
        over = x >= y
        ended += [y[over]]
        x, y = x[~over], y[~over]
    widths = (alpha + 1) * np.concatenate(ended)
    return float(widths.mean()), float(widths.std()) / math.sqrt(runs)


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("gap", [0.1, 0.3, 1.0])
def test_the_wedge_is_as_wide_at_the_end_as_in_simulation(alpha: float, gap: float) -> None:
    ratio = ((alpha + 1) / (alpha - 1)) ** 2
    closing, opening = gap * (alpha - 1) * ratio / 4, (alpha - 1) / 2
    mean, error = simulated_width(alpha, gap, 1000)
    found = float(width_at_end(np.array(closing), np.array(opening)))
    assert found == pytest.approx(mean, abs=3 * error + 0.15 * mean)
