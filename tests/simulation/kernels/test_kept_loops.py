"""Machine code on the disk: each version of the source has files of its own."""

from __future__ import annotations

from pathlib import Path

from bascule.simulation.kernels.compiled import DIGITS, _remove_other_versions, source_fingerprint


def test_machine_code_of_other_versions_is_removed(tmp_path: Path) -> None:
    own, other = source_fingerprint()[:DIGITS], "0" * DIGITS
    kept = [
        f"blocks.build.locals.play_{own}-102.py311.nbi",
        f"blocks.build.locals.play_{own}-102.py311.1.nbc",
        f"blocks.build_alone.locals.play_{other}-164.py311.nbi",
        f"blocks.build.locals.play_two_{other}-7.py311.nbi",
    ]
    stale = [
        "blocks.build.locals.play-102.py311.nbi",
        f"blocks.build.locals.play_{other}-99.py311.2.nbc",
    ]
    for name in (*kept, *stale):
        (tmp_path / name).write_bytes(b"")
    _remove_other_versions(tmp_path, "build.<locals>.play")
    assert {path.name for path in tmp_path.iterdir()} == set(kept)


def test_a_loop_is_kept_under_the_fingerprint_of_its_source() -> None:
    """An index that names a class of an earlier version is never read."""
    import bascule as bs
    from bascule.simulation.kernels import blocks

    bs.simulate(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), error=0.1), [0, 1], runs=2)
    folder = Path(blocks.__file__).parent / "__pycache__"
    names = [path.name for path in folder.glob("blocks.build*.nbi")]
    assert names
    assert any(source_fingerprint()[:DIGITS] in name for name in names)
