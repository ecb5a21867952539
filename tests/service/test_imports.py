"""The service uses the public parts of what it is built on."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import bascule.service

SOURCES = sorted(Path(bascule.service.__file__).parent.rglob("*.py"))


def imports(path: Path) -> set[str]:
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.module for node in tree if isinstance(node, ast.ImportFrom) and node.module}


def test_live_tests_are_reached_through_their_api() -> None:
    # Keys, sessions and webhooks are rows of the store, written as its other rows are.
    storage = {f"bascule.live.storage.{module}" for module in ("schema", "statements")}
    allowed = {"bascule.live.api", "bascule.live.api.reads", *storage}
    for path in SOURCES:
        live = {module for module in imports(path) if re.match(r"bascule\.live\b", module)}
        assert live <= allowed, path


def test_one_module_extends_the_protocol_of_the_server() -> None:
    # The supervision of workers is Uvicorn's own; what it serves by is extended in one module.
    inner = {(path.name, name) for path in SOURCES for name in imports(path) if "uvicorn." in name}
    assert {file for file, name in inner if name != "uvicorn.supervisors"} == {"connection.py"}


def test_no_private_attribute_of_another_object_is_used() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
                if ast.unparse(node) == "os._exit":
                    # Documented, whatever its name.
                    continue
                assert isinstance(node.value, ast.Name), f"{path}: {ast.unparse(node)}"
                assert node.value.id in ("self", "cls"), f"{path}: {ast.unparse(node)}"
