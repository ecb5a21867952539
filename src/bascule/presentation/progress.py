"""A bar that shows how far a computation is: in a terminal, and in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

Report = Callable[[str, int, int], None]
"""Function of the title of a step, the finished amount, and the total."""

COMPILING = "compiling (once, about 10 s)"

PATIENCE = 1.0
"""Seconds after which a loop is assumed to be compiling; loading it from disk takes less."""


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Yield a function that shows progress while a computation runs, and remove it afterwards.

    The progress is shown below the cell of a notebook, or on standard error if that is a terminal;
    elsewhere nothing is shown.
    """
    show = notebook_display()
    if show is not None:
        with _in_notebook(show) as report:
            yield report
    elif sys.stderr is not None and sys.stderr.isatty():
        with _in_terminal() as report:
            yield report
    else:
        yield _silent


def notebook_display() -> Callable[..., Any] | None:
    """Return the function that displays output in a notebook; None outside of one."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    show: Callable[..., Any] = import_module("IPython.display").display
    return show


def activity(what: str) -> str:
    """Return the title of the current step, or a notice while the simulator is being compiled.

    >>> activity("simulating the design")
    'simulating the design'
    """
    from bascule.simulation.engines.backends.threads import compiling

    return COMPILING if compiling.seconds > PATIENCE else what


@contextmanager
def _in_notebook(show: Callable[..., Any]) -> Iterator[Report]:
    def shown(text: str) -> dict[str, str]:
        return {"text/plain": text}

    output = show(shown("starting"), raw=True, display_id=True)

    def report(what: str, done: int, total: int) -> None:
        output.update(shown(f"{what}: {done} of {total}"), raw=True)

    try:
        yield report
    finally:
        output.update(shown(""), raw=True)


@contextmanager
def _in_terminal() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class Activity(ProgressColumn):
        max_refresh = 0.1

        def render(self, task: Task) -> Text:
            return Text(activity(task.description))

    console = Console(stderr=True)
    with Progress(
        Activity(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def report(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield report


def _silent(what: str, done: int, total: int) -> None:
    """Report nothing."""
