"""An error in one job fails that job, and not the others of its group."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.live.api import acting_as
from bascule.live.transactions.enrol import assign

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")


def test_whatever_one_caller_brings_the_others_of_its_group_are_served(store: bs.Store) -> None:
    test = store.create("test", DESIGN)

    def fail_for_some(work: Any, units: Sequence[Any]) -> Sequence[Any]:
        if "bad" in [unit for unit, _, _ in units]:
            raise ArithmeticError("what nobody has thought of")
        return assign(work, units)

    test.soon.assigning = test.soon.assigning._replace(action=fail_for_some)
    futures = [test.soon.assign(unit) for unit in ("u", "v", "bad", "w")]
    assert {futures[i].result(10) for i in (0, 1, 3)} <= {"a", "b"}
    with pytest.raises(ArithmeticError, match="nobody has thought of"):
        futures[2].result(10)
    assert test.status().units == 3
    assert test.verify().agrees


@pytest.mark.parametrize("second", ["ann", "bob"])
def test_an_end_is_logged_under_the_name_of_no_other_caller(store: bs.Store, second: str) -> None:
    test = store.create("test", replace(DESIGN, max_units=6))
    test.assign_many(range(6))
    test.record_many([(unit, 1.0) for unit in range(4)])

    async def call() -> None:
        replies = []
        for unit, actor in ((4, "ann"), (5, second)):
            with acting_as(actor):
                replies.append(test.soon.record_many([(unit, 1.0)]))
        for reply in replies:
            await reply

    asyncio.run(call())
    assert test.state == "over"
    assert test.audit()[-1]["actor"] == ("ann" if second == "ann" else store.actor)


def test_a_test_whose_clock_is_refused_does_not_fail_others_of_its_group(tmp_path: Path) -> None:
    path = tmp_path / "tests.db"
    with bs.open(path) as store:
        store.create("live", DESIGN)
    with bs.open(path, clock=bs.ManualClock()) as store:
        tests = [store.get("live"), store.create("replay", DESIGN)]

        async def call() -> list[Any]:
            calls = (test.soon.assign("u") for test in tests)
            return await asyncio.gather(*calls, return_exceptions=True)

        live, replay = asyncio.run(call())
    assert isinstance(live, bs.StoreError)
    assert replay in ("a", "b")
