from __future__ import annotations

import os

import pytest

from bascule.cli.support.console import note


def test_a_message_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "compiled the simulator for what was asked; " * 3
    note(words)
    assert len(capsys.readouterr().err.splitlines()) == 1
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 40)))
    note(words)
    printed = capsys.readouterr().err
    assert max(map(len, printed.splitlines())) <= 60
    assert " ".join(printed.split()) == f"bascule: {words}".rstrip()
