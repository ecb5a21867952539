from __future__ import annotations

from pathlib import Path

import pytest

from bascule.cli.main import main


def test_the_paper_is_written_and_its_verdicts_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["paper", "--out", str(tmp_path / "paper"), "--runs", "30"])
    assert caught.value.code == 0
    written = {path.name for path in (tmp_path / "paper").iterdir()}
    names = ("figure1", "figure2", "figure3", "figure4", "estimators")
    figures = {f"{name}.{kind}" for name in names for kind in ("png", "svg", "csv")}
    assert written == figures | {"claims.md", "claims.json"}
    assert "claims hold" in capsys.readouterr().out


def test_a_file_is_not_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    with pytest.raises(SystemExit) as caught:
        main(["paper", "--out", str(file)])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert file.read_text() == "mine"
