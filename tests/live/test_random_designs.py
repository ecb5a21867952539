"""A store and the simulator's loop, fed the same outcomes, go the same course.

Designs are drawn at random: guardrails, windows, calendar, horizon, futility, cap, batch, and two
to four arms. Every arm that is dealt, every removal, the decision and its moment are compared, and
`verify` recomputes the store. `BASCULE_DESIGNS=2000` compares more of them.
"""

from __future__ import annotations

import os

import pytest
from tests.live.random_designs import compare

DESIGNS = int(os.environ.get("BASCULE_DESIGNS", "24"))
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_a_store_and_a_simulation_go_the_same_course(part: int) -> None:
    count = DESIGNS // PARTS
    assert compare(part * count, count) == []
