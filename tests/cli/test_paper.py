from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bascule.cli.main import main
from bascule.paper import Regenerated
from bascule.paper.claims import Claim, Measured


def test_the_options_are_followed_and_the_verdicts_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written is seen on the page about it, where the command runs to its end."""
    asked: list[object] = []

    def regenerate(out: Path, runs: int, seed: int, threads: int | None, bar: object) -> object:
        asked.extend([out, runs, seed, threads])
        true = Claim("one", "theory", "One is one.", (Measured("one", 1.0),), "it is 1", True)
        claims = (true, replace(true, statement="One is two.", holds=False))
        return Regenerated((out / "claims.md", out / "claims.json"), claims)

    monkeypatch.setattr("bascule.paper.regenerate", regenerate)
    with pytest.raises(SystemExit) as caught:
        main(["paper", "--out", str(tmp_path), "--runs", "30", "--seed", "4", "--threads", "1"])
    assert caught.value.code == 0
    assert asked == [tmp_path, 30, 4, 1]
    assert capsys.readouterr().out.splitlines() == [
        "holds          One is one.",
        "does not hold  One is two.",
        "",
        "1 of 2 claims hold; claims.md has the measurements.",
        f"wrote {tmp_path / 'claims.md'}",
        f"wrote {tmp_path / 'claims.json'}",
    ]


def test_a_file_is_not_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    with pytest.raises(SystemExit) as caught:
        main(["paper", "--out", str(file)])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert file.read_text() == "mine"
