"""The concordance names only what exists, and every claim of the paper."""

from __future__ import annotations

import json
import re
import shlex
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest
from bench.concordance import markdown_text

from bascule.cli.main import main
from bascule.research.paper.concordance import ENTRIES, RECORDED, recorded
from bascule.research.paper.regenerate import SECTIONS

pytestmark = pytest.mark.slow

PAGE = next(Path(__file__).parents[3].glob("docs/*/concordance.md"))


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", sorted({name for entry in ENTRIES for name in entry.functions}))
def test_every_function_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(import_module(module), attribute))


@pytest.mark.parametrize("link", sorted({entry.page for entry in ENTRIES}))
def test_every_page_and_heading_exists(link: str) -> None:
    path, _, anchor = link.partition("#")
    page = PAGE.parent / path
    assert page.exists()
    assert not anchor or anchor in anchors(page)


def test_every_claim_has_a_place_and_a_recorded_verdict() -> None:
    named = {name for entry in ENTRIES for name in entry.claims}
    assert (
        named == {claim.id for section in SECTIONS for claim in section.claims} == set(recorded())
    )
    assert len({entry.place for entry in ENTRIES}) == len(ENTRIES)


def test_the_page_is_the_table() -> None:
    record = files("bascule.research.paper").joinpath(RECORDED).read_text(encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == markdown_text(json.loads(record)["runs"])


@pytest.mark.parametrize("command", sorted({entry.command for entry in ENTRIES}))
def test_every_command_runs(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *arguments = shlex.split(command)
    assert name == "bascule"
    few = "2" if arguments[0] == "paper" else "3"
    arguments = [str(tmp_path) if each == "results" else each for each in arguments]
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--runs", few])
    assert caught.value.code == 0, capsys.readouterr().err


def test_the_list_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["paper", "--list"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert all(entry.place in printed for entry in ENTRIES)
    assert (
        f"many-arms-second-branch ({recorded()['many-arms-second-branch']}, corrected)" in printed
    )
