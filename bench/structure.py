"""Counts that say how easy the code is to change: `python -m bench.structure [ROOT]`.

ROOT is a checkout, this one unless given. The counts need no import of the package, so that
checkouts of any version can be compared. The last row serves assignments over HTTP and counts the
functions of the package that one of them calls, from the first byte to the answer.

Lines of code are lines without blank ones, comments and docstrings; they are counted for each
package.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

HOPS = """
import statistics, tempfile, threading
from pathlib import Path
import bascule as bs
package, calls, on = str(Path(bs.__file__).parent), set(), False
def profile(frame, event, argument):
    code = frame.f_code
    if on and event == "call" and code.co_filename.startswith(package):
        if "<" not in code.co_name:
            calls.add((code.co_filename, code.co_qualname))
threading.setprofile(profile)
from tests.service.running import DESIGN, Service
seen = []
with tempfile.TemporaryDirectory() as folder:
    service = Service(f"{folder}/store.db")
    service.store.create("test", bs.Design.from_dict(DESIGN))
    with service.caller("client") as caller:
        for unit in map(str, range(41)):
            calls.clear()
            on = True
            assert caller.post("/v1/experiments/test/assign", json={"unit": unit}).is_success
            on = False
            seen.append((len(calls), len({file for file, _ in calls})))
    service.close()
print("%d in %d files" % statistics.median_low(seen[1:]))
"""


ASKING = (ast.Call, ast.Compare, ast.MatchClass, ast.Dict, ast.FunctionDef)
"""Syntax that can check the class of an object."""

WORDS = """
one ones its it given beside besides there here whole told met way ways them those these that which
what who whom whose such so thus then than too also ever never same other others another each every
either neither none any some all both few many much more most less least enough anyway else where
when why how do does did done be been being is are was were has have had can could may might must
shall should will would
"""
FUNCTION_WORDS = frozenset(WORDS.split())
"""Names that say nothing of what a value is."""

NOISE = ("outcomes", "noise.py")
"""The classes that draw outcomes; they count as outcome models wherever the file is."""


def trees(root: Path) -> Iterator[tuple[Path, int, ast.Module]]:
    package = root / "src" / "bascule"
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(package), text.count("\n"), ast.parse(text)


def code_lines(path: Path, tree: ast.Module) -> int:
    """Count the lines of a file without blank lines, comments and docstrings."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        number not in text and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(lines, start=1)
    )


def packages(root: Path) -> dict[str, int]:
    """Return the lines of code of each package, of the modules beside them, and of all."""
    sums: dict[str, int] = {}
    for path, _, tree in trees(root):
        name = path.parts[0] if len(path.parts) > 1 else "modules beside the packages"
        lines = code_lines(root / "src" / "bascule" / path, tree)
        sums[name] = sums.get(name, 0) + lines
    return {f"lines of code in {name}": sums[name] for name in sorted(sums)} | {
        "lines of code in all": sum(sums.values())
    }


def checks(nodes: Iterable[ast.AST], classes: set[str]) -> Iterator[ast.AST]:
    """Find where a file asks whether something is of some classes, in whatever way it does."""
    for node in nodes:
        if not isinstance(node, ASKING):
            continue
        match node:
            case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, asked]):
                named = asked
            case ast.Compare() if _names_in(node) & {"type", "__class__"}:
                named = node
            case ast.MatchClass(cls=named):
                pass
            case ast.Dict(keys=[*keys]):
                # A table by class stands for as many checks as it has rows.
                yield from (key for key in keys if key is not None and _name_of(key) in classes)
                continue
            case ast.FunctionDef(decorator_list=[*ways], args=ast.arguments(args=[first, *_])):
                if not any("register" in _names_in(way) for way in ways):
                    continue
                named = ast.Tuple([*ways, *([first.annotation] if first.annotation else [])])
            case _:
                continue
        if _names_in(named) & classes:
            yield node


def _names_in(node: ast.AST) -> set[str | None]:
    return {_name_of(part) for part in ast.walk(node)}


def _name_of(node: ast.AST) -> str | None:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return None


def probes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Find where a file asks whether a rule, an outcome model or a procedure has a name."""
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        match node:
            case ast.Call(func=ast.Name("hasattr"), args=[of, _]):
                pass
            case ast.Call(func=ast.Name("getattr"), args=[of, _, _]):
                pass
            case _:
                continue
        if _name_of(of) in ("rule", "outcome", "procedure", "noise", "model"):
            yield node


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield ast.get_docstring(node) or ""


def private(tree: ast.Module) -> int:
    """Count private attributes of objects that the file does not define."""
    mine = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and _is_self(n)}
    mine |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    mine |= {"_replace", "_asdict", "_fields", "_field_defaults", "_make", "_repr_html_"}
    return sum(
        node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in mine
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not _is_self(node)
    )


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def assigned_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a file assigns: variables, parameters, attributes of self, functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield name.strip("_")
            case ast.Attribute(attr=name, ctx=ast.Store()) if _is_self(node):
                yield name.strip("_")


def repeated_classes(files: Sequence[tuple[Path, int, ast.Module]]) -> list[str]:
    """Return the names that two or more classes of the package share."""
    names = Counter(
        node.name for _, _, tree in files for node in tree.body if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, number in names.items() if number > 1)


def function_words(files: Sequence[tuple[Path, int, ast.Module]]) -> str:
    """Return the share of assigned names that are function words, with the most frequent ones."""
    names = Counter(name for _, _, tree in files for name in assigned_names(tree) if name)
    found = Counter({name: names[name] for name in FUNCTION_WORDS & names.keys()})
    frequent = ", ".join(f"{name} {number}" for name, number in found.most_common(8))
    return f"{found.total() / names.total():.1%} ({frequent})"


def contract_classes(files: Sequence[tuple[Path, int, ast.Module]]) -> dict[str, set[str]]:
    """Return the names of all rules, outcome models (with their noise) and procedures."""
    folders = {"rules": "rules", "outcome models": "outcomes", "procedures": "procedures"}
    found: dict[str, set[str]] = {}
    classes = [
        (path, node, {ast.unparse(base) for base in node.bases})
        for path, _, tree in files
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    for kind, folder in folders.items():
        found[kind] = {
            node.name
            for path, node, bases in classes
            if path.parts[:2] == ("core", folder) or (folder, path.name) == NOISE
            if "NamedTuple" not in bases
            if kind != "procedures" or node.name.endswith("Procedure")
        }
        # Those that are defined elsewhere, as the rules of other tools.
        while more := {node.name for _, node, its in classes if its & found[kind]} - found[kind]:
            found[kind] |= more
    return found


def counts(root: Path) -> dict[str, int | str]:
    files = list(trees(root))
    outside = [tree for path, _, tree in files if path.parts[0] != "core"]
    names = [n.name for _, _, t in files for n in ast.walk(t) if isinstance(n, ast.FunctionDef)]
    folders: dict[Path, int] = {}
    for path, _, _ in files:
        if path.name != "__init__.py" and "versions" not in path.parts:
            folders[path.parent] = folders.get(path.parent, 0) + 1
    return {
        "files in `src`": len(files),
        "lines in `src`": sum(lines for _, lines, _ in files),
        "lines of a file, on average": round(sum(lines for _, lines, _ in files) / len(files)),
        "files under 70 lines": sum(
            lines < 70 for path, lines, _ in files if "__" not in path.name
        ),
        "files over 450 lines": sum(lines > 450 for _, lines, _ in files),
        "modules of the largest folder": max(folders.values()),
        **{
            f"checks of the class of {kind} outside `core`": sum(
                len(list(checks(ast.walk(tree), its))) for tree in outside
            )
            for kind, its in contract_classes(files).items()
        },
        "`hasattr` or `getattr` on any of these outside `core`": sum(
            len(list(probes(ast.walk(tree)))) for tree in outside
        ),
        "functions that format percent": sum(name.strip("_") == "percent" for name in names),
        'docstrings that begin with "The same"': sum(
            text.startswith("The same") for _, _, tree in files for text in docstrings(tree)
        ),
        "functions without those of `research`": sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for path, _, tree in files
            if path.parts[0] != "research"
            for node in ast.walk(tree)
        ),
        "assigned names that are function words": function_words(files),
        "class names that occur twice": ", ".join(repeated_classes(files)) or "none",
        "private attributes of other objects": sum(private(tree) for _, _, tree in files),
    }


HARM = frozenset(("is_harmful", "all_harmed", "harmed_on"))
"""Functions that say whether arms are harmful."""

CAPS = frozenset(("cap", "limit", "max_units", "terms.max_units", "design.max_units"))
TAKEN = frozenset(("units", "taken", "units + more", "units + size", "statistics.units"))
"""Names by which loops know the cap, and the units so far."""

DEADLINES = frozenset(("design.deadline", "deadline.timestamp()"))

FORMULAS = (
    "core/metrics/guard_rule.py",
    "core/calendar.py",
    "core/procedures/",
    "research/rivals/",
)
"""Where formulas are, which decide nothing, and rules of other tools, which have ends of theirs."""


def deciding(root: Path) -> dict[str, list[str]]:
    """Return the files that decide about a minimum duration, futility, harm, withholding, the cap
    and the deadline.

    A file decides about a minimum duration if it compares a time with it, about futility if it
    compares a reason with it, about harm if it calls the functions that find it, and about
    withholding if it stores until when a decision is withheld. It decides about the cap if it
    compares units with it, and about the deadline if it compares a time with it.
    """
    found: dict[str, set[str]] = {
        name: set()
        for name in ("min_days", "futility", "harm", "withholding", "the cap", "the deadline")
    }
    for path, _, tree in trees(root):
        name = path.as_posix()
        if name.startswith(FORMULAS):
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), *_]):
                    parts = {ast.unparse(part) for part in (node.left, *node.comparators)}
                    if any(part.endswith(("terms.least", ".min_days")) for part in parts):
                        found["min_days"].update(() if "0.0" in parts else (name,))
                    if parts & CAPS and parts & TAKEN:
                        found["the cap"].add(name)
                    if parts & DEADLINES:
                        found["the deadline"].add(name)
                case ast.Compare():
                    if "FUTILE" in _names_in(node) or "'futility'" in ast.unparse(node):
                        found["futility"].add(name)
                case ast.Call(func=ast.Name(called)) if called in HARM:
                    found["harm"].add(name)
                case ast.Subscript(slice=ast.Name("UNTIL"), ctx=ast.Store()):
                    found["withholding"].add(name)
    return {name: sorted(files) for name, files in found.items()}


def hops(root: Path) -> str:
    environment = {"PYTHONPATH": f"{root / 'src'}:{root}", "PATH": ""}
    command = [sys.executable, "-c", HOPS]
    done = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    lines = packages(where)
    product = lines["lines of code in all"] - lines["lines of code in research"]
    table = counts(where) | lines | {"lines of code of the product": product}
    table |= {
        f"files that decide about {name}": f"{len(files)} ({', '.join(files)})"
        for name, files in deciding(where).items()
    }
    table |= {"functions that an HTTP assign calls": hops(where)}
    print(json.dumps(table, indent=2))
