"""Counts that say how easy the code is to change: `python -m bench.structure [ROOT]`.

ROOT is a checkout, this one unless given. The counts need no import of the package, so that
checkouts of any version can be compared. The last row serves assignments over HTTP and counts the
functions of the package that one of them calls, from the first byte to the answer.

Lines are also split by feature: `NEW` names the modules and folders that serve only what the first
edition could not do. Everything else counts as the features of the first edition, modules that
serve both included.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
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


NEW = {
    "guardrails, secondary metrics and guarded rollouts": """
        core/metrics/guard_rule.py core/metrics/guardrails.py core/metrics/metric.py
        live/reports/metric_status.py planning/rollout_result.py planning/request/arrivals.py
        planning/rollout.py planning/rollout_result.py
        simulation/engines/guarded.py simulation/guardrails.py
        simulation/kernels/guarded.py theory/guardrails.py""",
    "covariates and ratio metrics": """
        core/covariates.py core/outcomes/ratio.py analysis/evidence/adjusted.py
        analysis/reduce/moments.py simulation/kernels/covariates.py""",
    "segments": """
        core/enrolment/segments.py live/api/segments.py planning/segments.py""",
    "horizons and futility": """
        core/evidence/horizon.py core/evidence/families/following_bets.py""",
    "outcomes of unknown spread": """
        core/evidence/spread.py core/outcomes/numeric.py
        core/evidence/families/estimated_spread.py""",
    "more than 20 arms, and predictions for three and more": """
        core/evidence/families/four_sums.py theory/prediction/many_arms.py""",
    "goals to decrease, relative lifts, running intersections of intervals": """
        core/metrics/effects.py
        core/procedures/intervals/state.py""",
    "rules and outcome models of users, and their contract": """
        contract.py core/registry.py simulation/engines/choose.py""",
    "audiences, layers, holdouts and linked names": """
        core/enrolment/audience.py core/enrolment/targeting.py live/storage/delivery.py
        live/transactions/erase.py""",
    "erasure, backup, import and doctor": """
        cli/operation/backup.py cli/unit.py live/api/backup.py live/api/erasure.py
        live/reports/verification/doctor.py live/storage/copies.py live/transactions/erase.py""",
    "checks of single rows": """
        live/reports/verification/row_checks.py""",
    "results that many readers share": "service/reading/shared.py",
    "OpenID Connect, notifications, assistants, slow clients": """
        cli/operation/mcp.py service/auth/oidc.py service/mcp_server.py
        service/notifications/notify.py service/server/connection.py""",
    "Dask, GPU, quicker loops": """
        simulation/engines/backends/cluster.py simulation/engines/backends/gpu.py
        simulation/kernels/block_differences.py simulation/kernels/gpu.py
        simulation/kernels/two_arms.py""",
    "rules of other tools": "research/rivals/",
    "logs in databases and Spark, of any form, of many tests, with one look": """
        analysis/each.py analysis/evidence/fixed.py analysis/exported.py analysis/log/naming.py
        analysis/log/numbers.py analysis/log/reading.py analysis/log/times.py
        analysis/source/places.py analysis/source/csv_files.py""",
    "notebooks, glossary of the page, numbers as people write them": """
        core/inputs/checks.py presentation/pages.py
        service/page/words.py""",
}
"""Modules and folders that serve only features that the first edition did not have."""


ASKING = (ast.Call, ast.Compare, ast.MatchClass, ast.Dict, ast.FunctionDef)
"""Syntax that can check the class of an object."""

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


def features(root: Path) -> dict[str, str]:
    """Return lines and lines of code, of old and new features and of each of the latter."""
    package = root / "src" / "bascule"
    places = [package / place for names in NEW.values() for place in names.split()]
    absent = [place for place in places if not place.exists()]
    assert len(absent) in (0, len(places)), f"moved or removed: {absent}"
    sums = {name: [0, 0] for name in ("features of the first edition", "new features", *NEW)}
    for path, lines, tree in trees(root):
        code = code_lines(package / path, tree)
        new = [
            name
            for name, places in NEW.items()
            if any(
                f"{path.as_posix()}/".startswith(f"{place.rstrip('/')}/")
                for place in places.split()
            )
        ]
        assert len(new) < 2, path
        for name in ["new features", *new] if new else ["features of the first edition"]:
            sums[name] = [sums[name][0] + lines, sums[name][1] + code]
    return {
        f"lines of {name}"
        if name in NEW
        else f"lines that serve {name}": f"{lines:,}, {code:,} of them code"
        for name, (lines, code) in sums.items()
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
        "private attributes of other objects": sum(private(tree) for _, _, tree in files),
    }


def hops(root: Path) -> str:
    environment = {"PYTHONPATH": f"{root / 'src'}:{root}", "PATH": ""}
    command = [sys.executable, "-c", HOPS]
    done = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    table = counts(where) | features(where) | {"functions that an HTTP assign calls": hops(where)}
    print(json.dumps(table, indent=2))
