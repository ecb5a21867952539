"""Callers that come together share a group, and an error of the group reaches each of them."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from bascule.live.commit.queue import CommitQueue


def test_callers_that_come_while_one_is_at_work_are_the_next_group() -> None:
    seen: list[list[int]] = []
    begun, go_on = Event(), Event()

    def work(jobs: list[int]) -> None:
        seen.append(jobs)
        begun.set()
        go_on.wait(10)

    groups = CommitQueue(work)
    threads = [Thread(target=groups.run, args=(0,))]
    threads[0].start()
    begun.wait(10)
    threads += [Thread(target=groups.run, args=(i,)) for i in range(1, 5)]
    for thread in threads[1:]:
        thread.start()
    while len(groups._queue) < 4:
        pass
    go_on.set()
    for thread in threads:
        thread.join()
    assert [sorted(jobs) for jobs in seen] == [[0], [1, 2, 3, 4]]


def test_an_error_reaches_the_caller_and_the_next_group_works() -> None:
    def work(jobs: list[str]) -> None:
        if "bad" in jobs:
            raise ValueError("bad")

    groups = CommitQueue(work)
    with pytest.raises(ValueError, match="bad"):
        groups.run("bad")
    groups.run("good")


def test_those_who_bring_much_do_not_all_go_at_once() -> None:
    seen: list[list[int]] = []
    begun, go_on = Event(), Event()

    def work(jobs: list[int]) -> None:
        seen.append(jobs)
        begun.set()
        go_on.wait(10)

    groups = CommitQueue(work, weigh=lambda job: job)
    threads = [Thread(target=groups.run, args=(job,)) for job in (1, 15_000, 15_000, 30_000)]
    threads[0].start()
    begun.wait(10)
    for waiting, thread in enumerate(threads[1:], 1):
        thread.start()
        while len(groups._queue) < waiting:
            pass
    go_on.set()
    for thread in threads:
        thread.join()
    assert seen == [[1], [15_000], [15_000], [30_000]]
