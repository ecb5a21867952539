"""The page of API keys: what it creates works, what it revokes does not, and who may use it."""

from __future__ import annotations

import re

import pytest
from tests.service.page.test_router import signed_in
from tests.service.running import Service

from bascule.service.auth.keys import create_key, list_keys


def csrf_of(text: str) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def test_a_key_is_created_shown_once_used_and_revoked(service: Service, name: str) -> None:
    with signed_in(service) as browser:
        token = csrf_of(browser.get("/keys").text)
        form = {"csrf_token": token, "label": "shop <b>", "role": "client", "experiment": name}
        answer = browser.post("/keys", data=form)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        found = re.search(r'id="made-key">(bsc_\w+_[^<]+)<', answer.text)
        assert found is not None
        key = found[1]
        assert "shop <b>" not in answer.text
        # The commands use the new key and name the test.
        assert f"KEY={key}" in answer.text
        assert f"/v1/experiments/{name}/assign" in answer.text
        listed = browser.get("/keys").text
        assert key not in listed
        made = next(one for one in list_keys(service.store) if one.label == "shop <b>")
        assert made.creator.endswith(")")
        with service.caller() as program:
            program.headers["x-api-key"] = key
            url = f"/v1/experiments/{name}/assign"
            assert program.post(url, json={"unit": "a"}).status_code == 200
            gone = browser.post(f"/keys/{made.id}/revoke", data={"csrf_token": token})
            assert gone.status_code == 303
            assert program.post(url, json={"unit": "b"}).status_code == 401
        assert "revoked 20" in browser.get("/keys").text


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("label", "x" * 101, "label must be"),
        ("experiment", "../x", "name"),
        ("role", "god", "role"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(
    service: Service, field: str, value: str, words: str
) -> None:
    before = len(list_keys(service.store))
    with signed_in(service) as browser:
        form = {"csrf_token": csrf_of(browser.get("/keys").text), "role": "client", field: value}
        answer = browser.post("/keys", data=form)
    assert answer.status_code == 422
    problem = re.search(f'id="{field}-problem">([^<]*)<', answer.text)
    assert problem is not None
    assert words in problem[1]
    assert len(list_keys(service.store)) == before


def test_only_an_admin_for_all_tests_manages_keys(service: Service) -> None:
    limited = create_key(service.store, "admin", ["some"])
    for role, key in (("viewer", None), ("admin", limited)):
        with signed_in(service, role, key) as browser:
            assert browser.get("/keys").status_code == 403
            assert browser.post("/keys", data={"role": "admin"}).status_code == 403
            assert 'href="/keys"' not in browser.get("/").text
    with signed_in(service) as browser:
        assert browser.post("/keys", data={"role": "admin"}).status_code == 403
        assert 'href="/keys"' in browser.get("/").text
