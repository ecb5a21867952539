"""The help of every command: short, the basics first, and all of it on request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from bascule.cli.main import application, main

LONGEST = 80
"""Lines, at most, that `--help` of a command prints on a terminal of 80 columns."""


def paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words that call each command."""
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from paths(one, (*path, name))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main(words)
    return capsys.readouterr().out


def test_the_help_of_every_command_is_short(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    commands = list(paths(typer.main.get_command(application())))
    assert len(commands) > 40
    helps = {path: printed(capsys, *path, "--help") for path in commands}
    lengths = {path: len(text.splitlines()) for path, text in helps.items()}
    assert max(lengths.values()) <= LONGEST, lengths
    assert [path for path, text in helps.items() if "<bool>" in text] == []


@pytest.mark.parametrize("words", [(), ("plan",), ("key", "create")])
def test_short_and_long_spelling_of_help(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, *words, "-h") == printed(capsys, *words, "--help")


def test_the_package_runs_as_a_module_and_completes_commands() -> None:
    typed = {"COMP_WORDS": "bascule pl", "COMP_CWORD": "1", "_BASCULE_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "bascule"]
    done = subprocess.run(
        command, env=os.environ | typed, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["plan"], done.stderr


@pytest.mark.parametrize("command", ["plan", "analyze", "simulate"])
def test_basics_come_first_and_the_rest_on_request(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short, full = printed(capsys, command, "--help"), printed(capsys, command, "--help-all")
    assert short.index("─ Basics ") < short.index("─ Output ")
    assert "─ Advanced " not in short
    assert "─ Advanced " in full


@pytest.mark.parametrize(
    ("words", "help_of"),
    [
        ("plan --colour red", "bascule plan"),
        ("simulate x.json", "bascule simulate"),
        ("help", "bascule"),
    ],
)
def test_a_mistyped_call_is_shown_where_the_help_is(
    words: str, help_of: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f"; see {help_of} --help\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan --mde 5%", "bascule: No such option: --mde; see --lift\n"),
        ("plan --guardrail x", "--guardrail; see --metric, --harm-error, --rollout\n"),
        ("plan -x 3", "bascule: No such option: -x; see bascule plan --help\n"),
        ("plan --days 3", "--days; see --deadline-days, --min-days\n"),
        ("", ""),
        ("key", ""),
    ],
)
def test_a_call_from_other_tools_is_shown_the_option_and_no_call_the_help(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.err.endswith(said) if said else printed.err == ""
    assert ("Usage: bascule" in printed.out) is not bool(said)
