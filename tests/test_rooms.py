"""Imports point down the list of rooms only, and heavy parts load when first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bascule

ROOMS = (
    "cli",
    "service",
    "paper",
    "report",
    "analyze",
    "live",
    "plan",
    "simulate",
    "theory",
    "core",
)
PACKAGE = Path(bascule.__file__).parent
LIGHT = {"bascule", "numpy"} | set(sys.stdlib_module_names)


def imported_modules(path: Path) -> set[str]:
    """Every module that a file imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports are written in full"
            found.add(node.module)
            if node.module == "bascule":
                found |= {f"bascule.{alias.name}" for alias in node.names}
    return found


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "bascule" and len(parts) > 1 and parts[1] in ROOMS else None


def sources() -> list[Path]:
    return sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py"))


def test_there_are_sources_to_look_at() -> None:
    assert len(sources()) > 20


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down_only(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0]
    allowed = ROOMS[ROOMS.index(own) :]
    above = {m for m in imported_modules(path) if (room := room_of(m)) and room not in allowed}
    assert not above, f"{path.relative_to(PACKAGE)} imports from a room above it: {sorted(above)}"


def test_every_folder_is_a_room_of_the_design() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(ROOMS)


def test_core_needs_the_standard_library_numpy_and_pydantic_only() -> None:
    for path in sorted((PACKAGE / "core").rglob("*.py")):
        roots = {module.split(".")[0] for module in imported_modules(path)}
        assert roots <= LIGHT | {"pydantic"}, path


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import bascule, sys; print(*{m.split('.')[0] for m in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"numba", "matplotlib", "pydantic", "rich", "typer", "pandas", "scipy"}
    heavy |= {"sqlalchemy", "alembic", "yaml", "fastapi", "uvicorn", "httpx", "openfeature"}
    assert not heavy & set(run.stdout.split())
