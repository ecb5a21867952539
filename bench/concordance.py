"""Play the paper's claims, record their verdicts, and write the concordance of the documentation.

`python -m bench.concordance [RUNS]`; 1,000 runs take some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bascule.research import paper
from bascule.research.paper import concordance

PAGE = Path(__file__).parent.parent / "docs" / "research" / "concordance.md"
SEED = 0


def main(runs: int = 1000) -> None:
    """Write both files."""
    with TemporaryDirectory() as folder:
        claims = paper.regenerate(folder, runs, SEED).claims
    verdicts = [(claim.id, claim.verdict) for claim in claims]
    record = Path(paper.__file__).parent / concordance.RECORDED
    record.write_text(concordance.verdicts_text(verdicts, runs, SEED), encoding="utf-8")
    concordance.recorded.cache_clear()
    PAGE.write_text(concordance.markdown_text(runs), encoding="utf-8")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
