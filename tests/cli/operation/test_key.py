"""Keys from the command line: made and shown once, listed without their secret, revoked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bascule.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as left:
        main(["key", *arguments])
    assert left.value.code == code
    said = capsys.readouterr()
    return said.err if code else said.out


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASCULE_STORE", str(tmp_path / "shop.db"))


def test_a_key_is_shown_once_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    key = run(capsys, "create", "--role", "client", "--experiment", "button", "--label", "shop")
    number, secret = key.strip().removeprefix("bsc_").split("_", 1)
    listed = run(capsys, "list")
    assert number in listed
    assert secret not in listed
    assert run(capsys, "revoke", number) == f"key {number} is revoked\n"
    (row,) = json.loads(run(capsys, "list", "--json"))["keys"]
    assert (row["role"], row["experiments"], row["label"]) == ("client", ["button"], "shop")
    assert row["revoked"] is not None


def test_a_key_for_an_experiment_that_is_not_there_yet_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["key", "create", "--role", "client", "--experiment", "buton"])
    said = capsys.readouterr()
    assert said.out.startswith("bsc_")
    assert said.err.endswith("there is no experiment 'buton' yet: the key will be valid for it\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "--role", "king"], "king"),
        (["create", "--role", "client", "--experiment", "../x"], "letters, digits"),
        (["create", "--role", "client", "--label", "a\nb"], "printable"),
        (["list"], "there is no store"),
    ],
)
def test_a_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    said = run(capsys, *arguments, code=2)
    assert said.count("\n") == 1
    assert words in said


def test_what_is_not_there_cannot_be_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "create", "--role", "viewer")
    assert run(capsys, "revoke", "none", code=2).startswith("bascule: there is no key 'none'")


def test_a_link_is_for_the_address_that_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "create", "--role", "viewer")
    link = run(capsys, "link", "--address", "https://tests.example/")
    assert re.fullmatch(r"https://tests\.example/sign-in\?token=[\w-]{43}\n", link)
