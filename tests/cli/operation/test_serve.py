"""What `bascule serve` says when it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "every program on this machine may use the API"),
        (["--proxy", "127.0.0.1"], "there are no keys: programs need one; create one with bascule"),
    ],
)
def test_the_greeting_says_who_needs_a_key(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bascule.service.server.run.run", lambda app, listening: listening.close())
    monkeypatch.setattr("bascule.service.server.run._leave", lambda: None)
    with pytest.raises(SystemExit):
        main(["serve", "--port", "0", *options])
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("is_new", [True, False])
def test_the_greeting_names_a_new_store_and_the_commands_that_work_on_it(
    is_new: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if not is_new:
        bs.open("my tests.db").close()
    monkeypatch.setattr("bascule.service.server.run.run", lambda app, listening: listening.close())
    monkeypatch.setattr("bascule.service.server.run._leave", lambda: None)
    with pytest.raises(SystemExit) as left:
        main(["serve", "--store", "my tests.db", "--port", "0"])
    assert left.value.code == 0
    first, link, keys = capsys.readouterr().out.splitlines()
    assert first.startswith("bascule is at http://127.0.0.1:")
    assert (f"(new store, without tests: {tmp_path / 'my tests.db'})" in first) == is_new
    assert link.endswith("--store 'my tests.db'")
    assert "bascule key link --address http://127.0.0.1:" in link
    assert "bascule key create --role admin --store 'my tests.db'" in keys
