from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.research.paper import Regenerated, regenerate
from bascule.research.paper.regenerate import SECTIONS

pytestmark = pytest.mark.slow

FIGURES = ("figure1", "figure2", "figure3", "figure4")
NAMES = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg", "csv")} | {
    "claims.md",
    "claims.json",
}


def test_every_file_is_there_and_is_what_it_says(regenerated: Regenerated, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == NAMES
    assert {path.name for path in regenerated.paths} == NAMES
    assert [path.name for path in regenerated.paths[-2:]] == ["claims.md", "claims.json"]
    for path in regenerated.paths:
        content = path.read_bytes()
        assert len(content) > 150
        if path.suffix == ".png":
            assert content.startswith(b"\x89PNG\r\n\x1a\n")
        if path.suffix == ".svg":
            assert b"<svg" in content
            assert b"<text" in content


def test_the_value_and_the_file_say_the_same(regenerated: Regenerated, folder: Path) -> None:
    data = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert {each["id"]: each["holds"] for each in data["claims"]} == {
        claim.id: claim.holds for claim in regenerated.claims
    }
    assert (data["runs"], data["seed"]) == (100, 3)
    held = sum(claim.holds for claim in regenerated.claims)
    assert f"{len(regenerated.claims)} claims: {held} holds" in repr(regenerated)


def test_ids_are_unique_and_measured_numbers_finite(regenerated: Regenerated) -> None:
    claims = regenerated.claims
    assert len(claims) == sum(len(section.claims) for section in SECTIONS)
    assert len({claim.id for claim in claims}) == len(claims)
    assert all(math.isfinite(each.value) for claim in claims for each in claim.measured)
    assert all(claim.measured and claim.statement.endswith(".") for claim in claims)
    assert all(claim.finding.detects for claim in claims)


def test_the_command_writes_the_same_bytes_for_the_same_seed(
    regenerated: Regenerated,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["paper", "--out", str(tmp_path), "--runs", "100", "--seed", "3", "--threads", "1"]
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == 0
    assert "not contradicted" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == NAMES
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name


def test_progress_rises_to_the_number_of_runs(
    regenerated: Regenerated, reports: list[tuple[str, int, int]]
) -> None:
    done = [done for _, done, _ in reports]
    assert done == sorted(done)
    extensions = (10 + 4) * 100 + (4 + 8) * 100 + 5 * 100 + 7 * 100
    figures = (63 + 30) * 100 + (2 + 2 + 2) * 100
    assert {total for _, _, total in reports} == {done[-1]} == {figures + extensions}


def test_an_interruption_leaves_no_claims(tmp_path: Path) -> None:
    (tmp_path / "claims.json").write_text("old")
    (tmp_path / "claims.md").write_text("old")

    def interrupt(what: str, done: int, total: int) -> None:
        if what == "simulating UCB_4":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regenerate(tmp_path, runs=20, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results"
    path.write_text("mine")
    with pytest.raises(bs.InputError, match="out must be a folder") as caught:
        regenerate(path)
    assert caught.value.field == "out"
    assert path.read_text() == "mine"
    with pytest.raises(bs.InputError, match="cannot write to") as caught:
        regenerate(path / "below")
    assert caught.value.field == "out"


def test_a_folder_that_takes_no_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", full)
    with pytest.raises(bs.InputError, match="permission denied") as caught:
        regenerate(str(tmp_path))
    assert caught.value.field == "out"


@pytest.mark.parametrize(("runs", "seed", "field"), [(1, 0, "runs"), (10, -1, "seed")])
def test_bad_numbers_are_refused_before_anything_is_written(
    tmp_path: Path, runs: int, seed: int, field: str
) -> None:
    out = tmp_path / "never"
    with pytest.raises(bs.InputError) as caught:
        regenerate(out, runs=runs, seed=seed)
    assert caught.value.field == field
    assert not out.exists()
