"""Callers that come together share a group, and an error of the group reaches each of them."""

from __future__ import annotations

from threading import Event, Thread
from time import sleep

import pytest

from bascule.live.commit import queue
from bascule.live.commit.queue import CommitQueue, Job, Reply


def reply_of(number: int, items: int = 1) -> Reply[int]:
    """A reply that has the number of its job as the result."""
    return Reply(Job(number, "", lambda _, given: given), [None] * items, lambda _: number)


class Held:
    """Work whose groups wait until `go_on` is set, and are kept."""

    def __init__(self) -> None:
        self.seen: list[list[int]] = []
        self.begun, self.go_on = Event(), Event()

    def __call__(self, jobs: list[Reply[int]]) -> None:
        self.seen.append([reply.job.experiment for reply in jobs])
        self.begun.set()
        self.go_on.wait(10)


def wait_for(groups: CommitQueue, number: int) -> int:
    """Run a job and wait for its result, as a thread that blocks does."""
    reply = reply_of(number)
    groups.run(reply)
    return reply.result(10)


def test_callers_that_come_while_one_is_at_work_are_the_next_group() -> None:
    held = Held()
    groups = CommitQueue(held, lambda: None)
    threads = [Thread(target=wait_for, args=(groups, 0))]
    threads[0].start()
    held.begun.wait(10)
    threads += [Thread(target=wait_for, args=(groups, i)) for i in range(1, 5)]
    for thread in threads[1:]:
        thread.start()
    while len(groups._queue) < 4:
        pass
    held.go_on.set()
    for thread in threads:
        thread.join()
    assert [sorted(jobs) for jobs in held.seen] == [[0], [1, 2, 3, 4]]


def test_an_error_reaches_the_caller_and_the_next_group_works() -> None:
    def work(jobs: list[Reply[int]]) -> None:
        if jobs[0].job.experiment == 1:
            raise ValueError("bad")

    groups = CommitQueue(work, lambda: None)
    with pytest.raises(ValueError, match="bad"):
        wait_for(groups, 1)
    assert wait_for(groups, 2) == 2


def test_an_interruption_while_a_group_waits_for_others_stops_no_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After Ctrl-C in a notebook nothing was ever written again."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    groups = CommitQueue(lambda _: None, lambda: None)
    monkeypatch.setattr(groups, "_company", 2)
    monkeypatch.setattr(groups._arrived, "wait_for", interrupted)
    reply = reply_of(1)
    with pytest.raises(KeyboardInterrupt):
        groups.run(reply)
    assert reply.result(10) == 1
    assert wait_for(groups, 2) == 2


def test_those_who_bring_much_do_not_all_go_at_once() -> None:
    held = Held()
    groups = CommitQueue(held, lambda: None)
    replies = [reply_of(i, items) for i, items in enumerate((1, 15_000, 15_000, 30_000))]
    groups.submit(replies[0])
    held.begun.wait(10)
    for reply in replies[1:]:
        groups.submit(reply)
    held.go_on.set()
    assert [reply.result(10) for reply in replies] == [0, 1, 2, 3]
    assert held.seen == [[0], [1], [2], [3]]


def test_the_thread_that_writes_for_others_ends_when_nobody_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "IDLE", 0.01)
    done: list[Reply[int]] = []
    groups = CommitQueue(done.extend, lambda: None)
    for number in range(3):
        groups.submit(reply_of(number))
        while groups._thread is not None:
            sleep(0.01)
    assert [one.job.experiment for one in done] == [0, 1, 2]


def test_one_unit_goes_between_two_batches_that_came_before_it() -> None:
    held = Held()
    groups = CommitQueue(held, lambda: None)
    replies = [reply_of(number, items=1000) for number in range(3)]
    groups.submit(replies[0])
    held.begun.wait(10)
    replies.append(reply_of(3))
    for reply in replies[1:]:
        groups.submit(reply)
    held.go_on.set()
    assert [reply.result(10) for reply in replies] == [0, 1, 2, 3]
    assert held.seen == [[0], [3], [1], [2]]


def test_jobs_of_a_call_on_thousands_of_tests_give_way_and_are_not_forgotten() -> None:
    links = [
        Reply(Job(number, "", lambda _, given: given, gives_way=True), [1], list)
        for number in range(300)
    ]
    one = reply_of(300)
    group, waiting, _ = queue.next_group([*links, one])
    assert group == [*links[: queue.GIVING_WAY], one]
    assert waiting == links[queue.GIVING_WAY :]


def test_who_assigns_one_unit_does_not_wait_for_the_batches_of_others() -> None:
    batches = [reply_of(number, items=200) for number in range(10)]
    one = reply_of(10)
    group, waiting, _ = queue.next_group([*batches, one])
    assert group == [batches[0], one]
    assert waiting == batches[1:]
    # After a batch, single units go alone, and then the next batch.
    group, waiting, is_light = queue.next_group([*batches, one], light_only=True)
    assert group == [one]
    assert is_light
    assert waiting == batches
    group, _, is_light = queue.next_group(batches, light_only=True)
    assert group == batches[:1]
    assert not is_light
    several = [reply_of(number, items=20) for number in range(10)]
    assert queue.next_group(several)[0] == several[:4]
    most = [reply_of(number) for number in range(queue.LARGEST_GROUP + 5)]
    group, waiting, _ = queue.next_group([*most, batches[0]])
    assert group == [*most[: queue.LARGEST_GROUP], batches[0]]
    assert waiting == most[queue.LARGEST_GROUP :]
