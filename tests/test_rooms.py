"""Imports point down the list of packages, form no cycle, and load heavy parts when first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from bench.structure import (
    checks,
    contract_classes,
    deciding,
    packages,
    probes,
    repeated_classes,
)

import bascule
from bascule.core import presenter
from bascule.core.outcomes import OUTCOMES
from bascule.core.rules import RULES

ROOMS = (
    "cli",
    "service",
    "research",
    "steering",
    "presentation",
    "planning",
    "analysis",
    "live",
    "simulation",
    "theory",
    "core",
)
PACKAGE = Path(bascule.__file__).parent
LIGHT = {"bascule", "numpy"} | set(sys.stdlib_module_names)


def module_of(path: Path) -> str:
    """The dotted name of a source file."""
    parts = ("bascule", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> list[Path]:
    """Every source file, those at the top of the package included."""
    return sorted(PACKAGE.rglob("*.py"))


MODULES = {module_of(path): path for path in sources()}
# The top of the package loads its names when they are first used: the stub says from where.
MODULES["bascule"] = PACKAGE / "__init__.pyi"


@cache
def parsed(path: Path) -> tuple[ast.Module, list[ast.AST]]:
    """The syntax tree of a file, and all of its nodes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tree, list(ast.walk(tree))


@cache
def imported_modules(path: Path) -> set[str]:
    """Every module that a file imports: at its top, inside a function, or for type checks only."""
    found: set[str] = set()
    for node in parsed(path)[1]:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            in_stub = path.suffix == ".pyi" and node.level == 1
            assert in_stub or node.level == 0, f"{path}: imports are written in full"
            parts = ["bascule", node.module] if in_stub else [node.module]
            module = ".".join(part for part in parts if part)
            for alias in node.names:
                submodule = f"{module}.{alias.name}"
                found.add(submodule if submodule in MODULES else module)
    return found


@cache
def named_modules(path: Path) -> set[str]:
    """Every module that a file names in text, as an import by name does."""
    texts = {
        node.value
        for node in parsed(path)[1]
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if text in MODULES and text != "bascule"}


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "bascule" and len(parts) > 1 and parts[1] in ROOMS else None


def test_there_are_sources_to_look_at() -> None:
    assert len(sources()) > 20


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_down_only(room: str) -> None:
    allowed = ROOMS[ROOMS.index(room) :]
    upward = {
        f"{module_of(path)} imports {module}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for module in imported_modules(path) | named_modules(path)
        if (target := room_of(module)) and target not in allowed
    }
    assert not upward, sorted(upward)


def test_a_package_registers_its_own_modules_as_presenters() -> None:
    import bascule.research.comparison  # It registers two.

    assert bascule.research.comparison
    for module, package in presenter._PACKAGES.items():
        assert f"{package}.{module}" in MODULES
    named = {
        node.args[0].value
        for path in sources()
        for node in parsed(path)[1]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "presenter" and isinstance(node.args[0], ast.Constant)
    }
    assert named == set(presenter._PACKAGES)


def test_only_the_commands_import_research() -> None:
    importing = {
        module
        for module, path in MODULES.items()
        if module != "bascule" and room_of(module) not in {"cli", "research"}
        if any(room_of(name) == "research" for name in imported_modules(path))
    }
    assert not importing


def test_every_package_is_counted_and_no_file_is_long() -> None:
    root = PACKAGE.parent.parent
    lines = packages(root)
    assert {f"lines of code in {room}" for room in ROOMS} <= lines.keys()
    assert sum(lines.values()) == 2 * lines["lines of code in all"]
    assert not [path for path in sources() if path.read_text().count("\n") > 450]


def test_every_class_name_means_one_thing() -> None:
    files = [(path.relative_to(PACKAGE), 0, parsed(path)[0]) for path in sources()]
    assert repeated_classes(files) == []


def test_imports_form_no_cycle() -> None:
    graph = {module: imported_modules(path) & MODULES.keys() for module, path in MODULES.items()}
    # The version is the one name that modules take from the top of the package.
    graph["bascule"] = {module for module in graph["bascule"] if module != "bascule"}
    graph = {module: needed - {"bascule"} for module, needed in graph.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" -> ".join(problem.args[1]))


def test_every_folder_is_a_room_of_the_design() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(ROOMS)


def folder_of(module: str) -> str:
    """The folder of a module, without the name of the package."""
    path = MODULES[module].parent
    return ".".join(path.relative_to(PACKAGE).parts)


def is_inside(folder: str, other: str) -> bool:
    """Whether one folder is the other one or lies in it."""
    return other in ("", folder) or folder.startswith(f"{other}.")


def test_no_two_folders_import_each_other() -> None:
    edges = {
        (folder_of(module), folder_of(needed))
        for module, path in MODULES.items()
        for needed in imported_modules(path) & MODULES.keys()
        if "bascule" not in (module, needed)
    }
    # A folder and the folder around it are one subject, and may share modules both ways.
    mutual = {
        (one, other)
        for one, other in edges
        if one < other and (other, one) in edges and not is_inside(other, one)
    }
    assert not mutual, sorted(mutual)


def test_core_needs_the_standard_library_numpy_and_pydantic_only() -> None:
    for path in sorted((PACKAGE / "core").rglob("*.py")):
        roots = {module.split(".")[0] for module in imported_modules(path)}
        assert roots <= LIGHT | {"pydantic"}, path


def test_every_public_name_can_be_loaded() -> None:
    missing = [name for name in bascule.__all__ if not hasattr(bascule, name)]
    assert not missing
    assert set(dir(bascule)) == {*bascule.__all__, "__version__"}
    registered = (model for registry in (OUTCOMES, RULES) for model in registry)
    own = {model.__name__ for model in registered if model.__module__.startswith("bascule.core.")}
    assert own <= set(bascule.__all__)


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import bascule, sys; print(*{m.split('.')[0] for m in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "matplotlib", "pydantic", "rich", "typer", "pandas", "scipy"}
    heavy |= {"sqlalchemy", "alembic", "yaml", "fastapi", "uvicorn", "httpx", "openfeature"}
    assert not heavy & set(run.stdout.split())


def test_no_class_of_a_rule_an_outcome_or_a_procedure_is_asked_for_outside_core() -> None:
    files = [(path.relative_to(PACKAGE), *parsed(path)) for path in sources()]
    classes = set().union(*contract_classes([(path, 0, tree) for path, tree, _ in files]).values())
    assert {"Tilt", "Bernoulli", "Normal", "BlockProcedure", "Thompson"} <= classes
    found = {
        f"{path.as_posix()}: {ast.unparse(node)}"
        for path, _, nodes in files
        if path.parts[0] != "core"
        for node in (*checks(nodes, classes), *probes(nodes))
    }
    assert not found


CHECKS = """
isinstance(x, Tilt)
isinstance(x, (int, bs.Tilt | str))
issubclass(kind, Tilt)
type(x) is Tilt
type(x) in (Tilt, int)
x.__class__ == Tilt
{Tilt: 1, int: 2}
match x:
    case Tilt(tilt=3): pass
@play.register
def _(rule: Tilt, runs): pass
@play.register(Tilt)
def _(rule, runs): pass
hasattr(design.rule, "tilt")
getattr(rule, "effect", None)
"""


def test_every_way_to_ask_for_a_class_is_seen() -> None:
    nodes = list(ast.walk(ast.parse(CHECKS)))
    assert len(list(checks(nodes, {"Tilt"}))) == 10
    assert len(list(probes(nodes))) == 2
    assert not list(checks(nodes, {"UCB"}))


def test_the_policy_of_a_test_is_decided_in_its_course_only() -> None:
    places = deciding(PACKAGE.parent.parent)
    assert places == {name: ["core/course.py"] for name in places}
