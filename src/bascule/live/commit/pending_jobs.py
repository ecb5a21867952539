"""What callers want of an experiment, and how those of one transaction are done together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from bascule.core.errors import InputError

if TYPE_CHECKING:
    from bascule.live.transactions.unit_of_work import Work

Do = Callable[["Work", Sequence[Any]], Sequence[Any]]


@dataclass(slots=True, eq=False)
class Job:
    """Something to do to an experiment within a transaction, and what came of it.

    `do` has an answer for each of the things that it is `given`, so that jobs of a group that do
    the same are done together; those that enrol units come first, so that an outcome finds the
    unit that was asked for before it. `actor` is who wants it, where that is not whoever opened the
    store.
    """

    experiment: int
    name: str
    do: Do
    given: Sequence[Any]
    actor: str = ""
    enrols: bool = False
    answers: Sequence[Any] = ()
    problem: BaseException | None = None


def _order(job: Job) -> bool:
    return not job.enrols


def do_all(work: Work, jobs: list[Job]) -> None:
    """Do the jobs; those that do the same together, since they came at the same time."""
    alike: dict[Do, list[Job]] = {}
    for job in sorted(jobs, key=_order):
        alike.setdefault(job.do, []).append(job)
    own = work.actor
    for some in alike.values():
        work.actor = some[0].actor or own
        _do(work, some)


def _do(work: Work, jobs: list[Job]) -> None:
    given = jobs[0].given if len(jobs) == 1 else [one for job in jobs for one in job.given]
    try:
        answers = jobs[0].do(work, given)
    except InputError as problem:
        for job in jobs:
            job.problem = problem
        return
    left = iter(answers)
    for job in jobs:
        job.answers = list(islice(left, len(job.given)))
