"""The page's glossary says what docs/using/glossary.md says, and every page links to it."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from tests.service.running import Service

from bascule.service.page.glossary import TERMS, anchor, term

DOCS = Path(__file__).parents[3] / "docs" / "using" / "glossary.md"


def documented() -> dict[str, str]:
    """Return the terms of the documentation as plain text, without links to its pages."""
    block = DOCS.read_text(encoding="utf-8").split("```{glossary}\n")[1].split("\n```")[0]
    found = {}
    for entry in block.split("\n\n"):
        name, meaning = entry.strip("\n").split("\n", 1)
        text = re.sub(
            r" (See|Set it with \S+ See) \[\]\([^)]*\)( for [^.]*)?\.", "", meaning.strip()
        )
        text = re.sub(r"\{term\}`([^<`]*?)(?: <[^>]*>)?`", r"\1", text)
        found[name] = text.replace("`", "").replace("Evidence <evidence>", "Evidence")
    return found


@pytest.mark.parametrize("name", TERMS)
def test_a_term_has_the_same_meaning_in_the_documentation(name: str) -> None:
    assert TERMS[name] == documented()[name]


def test_every_page_links_to_the_glossary(service: Service, name: str) -> None:
    # The first plan of a process waits for its loops to be compiled.
    client = httpx.Client(base_url=service.url, trust_env=False, follow_redirects=True, timeout=200)
    with client as browser:
        assert 'href="/glossary"' in browser.get("/sign-in").text
        browser.post("/sign-in", data={"key": service.keys["admin"]})
        paths = ("/", f"/tests/{name}", "/new", f"/tests/{name}/ask/stop", "/glossary")
        pages = {path: browser.get(path, headers={"accept": "text/html"}).text for path in paths}
    for path, text in pages.items():
        assert 'href="/glossary"' in text, path
    targets = {
        target for text in pages.values() for target in re.findall(r"/glossary#([^\"]+)", text)
    }
    assert len(targets) > 8
    for target in targets:
        assert f'id="{target}"' in pages["/glossary"], target


def test_the_glossary_needs_no_session(service: Service) -> None:
    with httpx.Client(base_url=service.url, trust_env=False) as browser:
        answer = browser.get("/glossary")
        assert answer.status_code == 200
        assert all(f'id="{anchor(name)}"' in answer.text for name in TERMS)
        assert "Sign out" not in answer.text


def test_links_to_unknown_terms_fail_loudly() -> None:
    with pytest.raises(KeyError, match="glossary"):
        term("nonsense")
