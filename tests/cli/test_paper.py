from __future__ import annotations

from pathlib import Path

import pytest

from bascule.cli.main import main


def test_a_file_is_not_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    with pytest.raises(SystemExit) as caught:
        main(["paper", "--out", str(file)])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert file.read_text() == "mine"
