"""The glossary of the documentation is on the page, and every page links to it."""

from __future__ import annotations

import re

import httpx
import pytest
from tests.service.running import Service

from bascule.service.page.words import anchor, term, terms


def test_terms_are_plain_text() -> None:
    assert len(terms()) > 60
    for name, meaning in terms().items():
        assert meaning.endswith("."), name
        assert not re.search(r"[`{}\[\]\n]|\.md", meaning), name
    assert terms()["e-process"].startswith("Evidence against a claim")


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
    assert len(targets) > 6
    for target in targets:
        assert f'id="{target}"' in pages["/glossary"], target


def test_the_glossary_needs_no_session(service: Service) -> None:
    with httpx.Client(base_url=service.url, trust_env=False) as browser:
        answer = browser.get("/glossary")
        assert answer.status_code == 200
        assert all(f'id="{anchor(name)}"' in answer.text for name in terms())
        assert "Sign out" not in answer.text


def test_links_to_unknown_terms_fail_loudly() -> None:
    with pytest.raises(KeyError, match="glossary"):
        term("nonsense")
