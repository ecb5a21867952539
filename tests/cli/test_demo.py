from __future__ import annotations

from pathlib import Path

import pytest

from bascule.cli.main import main


def test_the_demo_ends_with_a_decision_and_a_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--runs", "50", "--out", str(tmp_path / "new")])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "green is better" in out
    assert "ETC (even split)" in out
    assert (tmp_path / "new" / "trade-off.png").stat().st_size > 10_000
