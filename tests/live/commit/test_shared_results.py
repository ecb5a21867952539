"""A slow result is computed once for all who ask at the same time, and reused for a while."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from bascule.live.commit import shared_results
from bascule.live.commit.shared_results import SharedResults


def test_all_who_ask_at_the_same_time_get_one_computation() -> None:
    results, go_on = SharedResults(), Event()
    begun: list[int] = []

    def compute() -> str:
        begun.append(1)
        go_on.wait(10)
        return "computed"

    with ThreadPoolExecutor(15) as callers:
        asked = [callers.submit(results.get, "key", compute) for _ in range(15)]
        while not begun:
            pass
        go_on.set()
        assert {one.result(10) for one in asked} == {"computed"}
    assert len(begun) < 15


def test_a_slow_result_is_reused_and_a_quick_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(shared_results, "perf_counter", lambda: clock[0])
    results = SharedResults()
    calls = iter(range(10))

    def compute(seconds: float) -> int:
        clock[0] += seconds
        return next(calls)

    assert [results.get("quick", lambda: compute(0.1)) for _ in range(2)] == [0, 1]
    assert [results.get("slow", lambda: compute(1.0)) for _ in range(3)] == [2, 2, 2]
    clock[0] += 10.0
    assert results.get("slow", lambda: compute(1.0)) == 3


def test_an_error_is_raised_for_each_and_not_kept() -> None:
    results = SharedResults(slow=-1.0)

    def fail() -> int:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            results.get("key", fail)
    assert results.get("key", lambda: 1) == 1
