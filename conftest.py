"""Run the code of README.md and of every page under docs/: one test a page, block after block.

A page is one test because its blocks build on each other; so pages may go to different processes.
`python` blocks run as they stand, and those with `>>>` have their output checked. `console` blocks
run the commands after `$` in a folder of the page's own, and check exit code and output.
"""

from __future__ import annotations

import doctest
import gc
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from sybil import Document, Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

from bascule.core.outcomes import OUTCOMES
from bascule.core.rules import RULES
from bascule.live.steps import assignment

ROOT = Path(__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EXIT_CODE = re.compile(r"^\[exit code (\d+)\]\n?", re.MULTILINE)
SECONDS = 120
SLOW_PAGE = "<!-- test: slow -->\n"
SLOW_EXAMPLES = ("bascule.planning.rollout.plan_rollout",)
"""Examples in docstrings that compile loops which take long."""
SHELL = set("|&;<>$`")
"""What only a shell understands."""

# A job in a shell's background ignores interruptions, and so would the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def seeded_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every store that a test opens shuffles its blocks from the same seeds, run after run."""
    seeds = count()

    class Seeded(random.Random):
        def __init__(self) -> None:
            super().__init__(next(seeds))

    monkeypatch.setattr(assignment, "random", SimpleNamespace(Random=Seeded))


def run_console(example: Example) -> None:
    """Run each `$ command` of a block; what follows it is the output that it has to give.

    A block that shows no output below a command does not check it. `[exit code N]` as the last
    line says that the command fails, and then what is shown is what it prints on standard error.
    """
    for session in re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)[1:]:
        command, _, shown = session.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command = command[:-1] + more.removeprefix("> ")
        failure = EXIT_CODE.search(shown)
        wanted = int(failure[1]) if failure else 0
        shown = EXIT_CODE.sub("", shown)
        ours = command.startswith("bascule ") and not SHELL & set(command)
        code, output, errors = run_here(command) if ours else run_in_shell(command)
        if code != wanted:
            raise AssertionError(f"$ {command}\nexit code {code}, not {wanted}\n{errors}")
        got = errors if failure else output
        if shown.strip() and not doctest.OutputChecker().check_output(shown, got, FLAGS):
            raise AssertionError(f"$ {command}\nexpected:\n{shown}\ngot:\n{got}")


def run_here(command: str) -> tuple[int, str, str]:
    """Run one of our commands in this process, which has loaded and compiled much of it before.

    Exit code, standard output and standard error. That commands also start as programs of their
    own is tested where the commands are.
    """
    from bascule.cli.main import main

    code = 0
    streams = [TextIOWrapper(BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]), terminal():
        try:
            main(shlex.split(command)[1:])
        except SystemExit as left:
            code = int(left.code or 0)
    for stream in streams:
        stream.seek(0)
    return code, streams[0].read(), streams[1].read()


def run_in_shell(command: str) -> tuple[int, str, str]:
    """Run a command as a reader would: exit code, standard output and standard error."""
    with terminal():
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def terminal() -> Iterator[None]:
    """What a command finds around it: our programs, a hundred columns, no colours."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}.items():
            patched.setenv(name, value)
        patched.delenv("FORCE_COLOR", raising=False)
        yield


PAGES = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    path=str(ROOT),
)


def forget_foreign_classes() -> None:
    """Unregister the rules and outcome models of a page: other tests list all that there are."""
    for registry in (RULES, OUTCOMES):
        for kind, cls in [*registry.classes.items()]:
            if not cls.__module__.startswith("bascule."):
                registry.forget(kind)


class Page(pytest.Item):
    """One page and all of its blocks."""

    def runtest(self) -> None:
        """Evaluate the blocks in order, in a folder made for the page."""
        document: Document = PAGES.parse(self.path)
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            try:
                for example in document.examples():
                    example.evaluate()
            finally:
                forget_foreign_classes()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        """What went wrong and in which line, without the machinery in between."""
        return excinfo.exconly()


class PageFile(pytest.File):
    """A Markdown file as pytest collects it."""

    def collect(self) -> Iterator[Page]:
        """Its one test, which is slow if the page begins with a comment that says so."""
        page = Page.from_parent(self, name="blocks")
        if self.path.read_text(encoding="utf-8").startswith(SLOW_PAGE):
            page.add_marker(pytest.mark.slow)
        yield page


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> PageFile | None:
    """Collect the pages, and nothing of what was built from them."""
    if "_build" in file_path.parts or not PAGES.should_parse(file_path):
        return None
    return PageFile.from_parent(parent, path=file_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the test that builds the pages: it takes long and compiles no loop.

    Meanwhile another process compiles those of README.md, which many pages and tests use too.
    """
    for item in items:
        if item.name in SLOW_EXAMPLES:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: not item.nodeid.startswith("tests/docs/"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, nor later among what was loaded for it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
