"""The bar of a computation: in a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from bascule.presentation import progress
from bascule.simulation.engines.backends.threads import compiling


def in_terminal(code: str) -> str:
    """Return what a program writes to standard error that is a terminal."""
    primary, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=terminal, stdout=subprocess.DEVNULL, env=environment
    ) as program:
        os.close(terminal)
        written = b""
        while True:
            try:
                part = os.read(primary, 4096)
            except OSError:
                break
            if not part:
                break
            written += part
    os.close(primary)
    assert program.returncode == 0
    return written.decode(errors="replace")


def test_a_plan_shows_a_bar_in_a_terminal_and_compilation_in_it() -> None:
    code = """
import time
from bascule.presentation import progress
from bascule.simulation.engines.backends.threads import compiling
progress.PATIENCE = 0.1
with progress.progress_bar() as report:
    report("simulating the design", 1, 5)
    time.sleep(0.3)
    with compiling:
        time.sleep(0.6)
"""
    written = in_terminal(code)
    assert "simulating the design" in written
    assert progress.COMPILING in written


def test_nothing_is_shown_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_bar() as report:
        report("simulating", 1, 5)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_one_output_that_is_emptied_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], **_: Any) -> SimpleNamespace:
        shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, **_: shown.append(data["text/plain"]))

    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    with progress.progress_bar() as report:
        report("simulating the design", 2, 5)
    assert shown == ["starting", "simulating the design: 2 of 5", ""]


def test_compilation_is_named_once_it_takes_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    with compiling:
        assert progress.activity("simulating") == "simulating"
        monkeypatch.setattr(time, "monotonic", lambda: now + 3)
        assert progress.activity("simulating") == progress.COMPILING
    assert compiling.seconds == 0
