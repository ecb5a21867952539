from __future__ import annotations

import bascule as bs


def test_a_trace_ends_with_its_only_decision() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), sides=1)
    steps = list(bs.trace(design, [0.0, 1.0], seed=4))
    assert [step.decision for step in steps[:-1]] == [None] * (len(steps) - 1)
    assert steps[-1].decision is not None
    assert [step.statistics.units for step in steps] == list(range(1, len(steps) + 1))


def test_a_capped_trace_may_end_without_a_decision() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), max_units=20, sides=1)
    steps = list(bs.trace(design, [0.0, 1.0], seed=4))
    assert len(steps) == 20
    assert steps[-1].decision is None
