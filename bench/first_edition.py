"""Run the code of a documentation with this version: `python -m bench.first_edition DOCS`.

DOCS is the folder `docs` of a checkout, such as that of the first edition. Every Python example and
every `bascule` command on its pages is run, page by page. What raises an error is printed, and then
how many lines the functions have that were called, and the modules that they are in. With
PYTHONPATH on an older checkout the same is counted there, for the same tasks.

What a page prints is not compared: numbers may differ by what a version proves, or draws.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import gc
import io
import os
import re
import shlex
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import bascule as bs
from bascule.cli.main import main as command

PACKAGE = Path(bs.__file__).parent
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)

Place = tuple[str, int]


def note(frame: FrameType, event: str, _: object) -> None:
    """Note the place of a function of the package that is called."""
    if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
        CALLED.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))


CALLED: set[Place] = set()


def run_page(page: Path) -> list[str]:
    """Run the examples and commands of a page; return a line for each that raises an error."""
    failures: list[str] = []
    names = {"__name__": "__main__"}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            for example in doctest.DocTestParser().get_examples(text):
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(example.source, page.name, "single"), names)
                except Exception as error:
                    if example.exc_msg is None:
                        line = example.source.strip().splitlines()[0]
                        failures.append(f"{page.name}: {line}: {type(error).__name__}: {error}")
        else:
            lines = re.sub(r"\\\n\s*", " ", text).splitlines()
            failures += filter(None, map(run_command, lines))
    return failures


def run_command(line: str) -> str | None:
    """Run a line if it is a command that ends by itself; return what it says if it fails."""
    words = shlex.split(line[2:], comments=True) if line.startswith("$ bascule ") else []
    if not words or words[1] == "serve" or set(words) & {"|", ">", "&", "--port"}:
        return None
    said = io.StringIO()
    sys.argv = words
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            command()
        except SystemExit as end:
            if end.code not in (0, None):
                return f"{line}: {said.getvalue().strip()}"
        except Exception as error:
            return f"{line}: {type(error).__name__}: {error}"
    return None


def compiled() -> set[Place]:
    """Return the places of functions whose compiled code was used, and of those they call."""
    from numba.core.dispatcher import Dispatcher

    places: set[Place] = set()
    # By its type alone: to ask the object itself fails for references to what is gone.
    found = [one for one in gc.get_objects() if issubclass(type(one), Dispatcher)]
    waiting = [one for one in found if one.overloads]
    while waiting:
        function = waiting.pop().py_func
        code = function.__code__
        if (code.co_filename, code.co_firstlineno) in places:
            continue
        places.add((code.co_filename, code.co_firstlineno))
        near = [function.__globals__.get(name) for name in code.co_names]
        near += [cell.cell_contents for cell in function.__closure__ or ()]
        waiting += [one for one in near if isinstance(one, Dispatcher)]
    return places


def lines_of(path: Path, called: set[int]) -> tuple[int, int]:
    """Return the lines of the functions that were called, and those outside all functions."""
    text = path.read_text(encoding="utf-8")
    inside = used = 0
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
            continue
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        places = range(first, (node.end_lineno or first) + 1)
        inside += len(places)
        used += len(places) if called & set(places) else 0
    return used, len(text.splitlines()) - inside


def main(docs: Path) -> None:
    """Run all pages, each in a folder of its own, and print what fails and what was called."""
    failures: list[str] = []
    for page in sorted(docs.rglob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            sys.setprofile(note)
            threading.setprofile(note)
            failures += run_page(page)
            sys.setprofile(None)
            threading.setprofile(None)
            os.chdir("/")
    print(*failures, sep="\n")
    called = CALLED | compiled()
    names = {name for name, _ in called if name.startswith(str(PACKAGE)) and name.endswith(".py")}
    files = sorted(map(Path, names))
    counts = [lines_of(one, {at for name, at in called if name == str(one)}) for one in files]
    used, outside = map(sum, zip(*counts, strict=True))
    print(f"{used} lines of functions and {outside} outside of them, in {len(files)} modules")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
