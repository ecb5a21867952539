"""A store on a disk that fills up and then can only be read: `python -m bench.live_trouble FOLDER`.

FOLDER is the root of a small file system that may be mounted anew, as made by
`mount -t tmpfs -o size=3m tmpfs FOLDER`; the script needs the right to do so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.live.conftest import Programs

import bascule as bs


def main(folder: Path) -> None:
    """Fill the disk, make room, take the right to write, and give it back."""
    with bs.open(folder / "store.db") as store:
        test = store.create("test", Programs.endless)
        assigned: dict[str, str] = {}
        filler = folder / "filler"
        filler.write_bytes(b"x" * 1_500_000)
        for group in range(10_000):
            units = [f"{group}-{i}" for i in range(50)]
            try:
                assigned |= zip(units, test.assign_many(units), strict=True)
                test.record_many((unit, 1.0, None, unit) for unit in units)
            except bs.StoreError as problem:
                print(f"after {len(assigned):,} units: {problem}")
                break
        filler.unlink()
        test.assign_many(units)
        _compare(test, assigned)
        print("with room again it goes on; nothing is lost")
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    try:
        with bs.open(folder / "store.db") as store:
            store.get("test").assign("one more")
    except bs.StoreError as problem:
        print(problem)
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    with bs.open(folder / "store.db") as store:
        test = store.get("test")
        test.assign("one more")
        _compare(test, assigned)
    print("writable again it goes on; nothing is lost")


def _compare(test: bs.Experiment, assigned: dict[str, str]) -> None:
    assert test.assign_many(list(assigned)) == list(assigned.values()), "a unit has another arm"
    found = test.verify()
    assert found.agrees, str(found)
    print(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
