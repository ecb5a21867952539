"""`python -m bench.trials`: draw the figures of the page on real trials, by running that page."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

from conftest import PAGES

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run the page in a folder of its own, and keep the figures that it saves."""
    # The same page gives the same files, to the byte.
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "bascule"
    mpl.rcParams["svg.fonttype"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        with chdir(folder):
            for example in PAGES.parse(ROOT / "docs" / "using" / "real-trials.md").examples():
                example.evaluate()
        for figure in sorted(Path(folder).glob("*.svg")):
            shutil.copy(figure, ROOT / "docs" / "images")
            print(f"wrote docs/images/{figure.name}")


if __name__ == "__main__":
    main()
