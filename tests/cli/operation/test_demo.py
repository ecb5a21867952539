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
        main(["demo", "--study", *arguments])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_study_ends_with_a_decision_and_a_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--study", "--runs", "50", "--out", str(tmp_path / "new")])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "green is better" in out
    assert "ETC (even split)" in out
    assert (tmp_path / "new" / "trade-off.png").stat().st_size > 10_000


def test_the_demo_runs_a_test_on_the_service(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # More visitors in days that are shorter, and a button that is hard to miss.
    monkeypatch.setattr("bascule.service.demo_shop.DAY", 0.5)
    monkeypatch.setattr("bascule.service.demo_shop.PER_SECOND", 300)
    monkeypatch.setattr("bascule.service.demo_shop.LOOK_EVERY", 0.5)
    monkeypatch.setattr("bascule.service.demo_shop.BUY", {"control": 0.1, "green": 0.6})
    with pytest.raises(SystemExit) as caught:
        main(["demo", "--seconds", "60", "--no-stay"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "/sign-in?token=" in out
    assert "Ship green: a worse arm wins with probability at most 5 %" in out
    assert "A test with an even split would cost " in out
    assert "Saved" not in out
