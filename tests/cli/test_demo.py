from __future__ import annotations

from pathlib import Path

import pytest

from bascule.cli.main import main


@pytest.mark.parametrize(
    "arguments", [["--runs", "0"], ["--seed", "-1"], ["--out", "/dev/null/x"], ["--out", ""]]
)
def test_a_mistake_is_one_line_before_any_story(
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main(["demo", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


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
