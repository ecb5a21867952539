"""Words about a test over HTTP and on the page, and the report to hand around."""

from __future__ import annotations

import html

import httpx
import pytest
from tests.service.page.test_router import signed_in, token
from tests.service.running import DESIGN, Service

from bascule.cli.main import main

WORDS = "Ann <b>: green sells more, q3"


def test_words_are_shown_searched_and_changed(service: Service, admin: httpx.Client) -> None:
    made = admin.post(
        "/v1/experiments", json={"name": "worded", "design": DESIGN, "description": WORDS}
    )
    assert made.status_code == 201, made.text
    more = {"description": f"{WORDS} https://wiki.example/x"}
    assert admin.post("/v1/experiments/worded/description", json=more).json() == more
    assert admin.get("/v1/experiments/worded").json()["description"] == more["description"]
    bad = admin.post("/v1/experiments/worded/description", json={"description": "a\0b"})
    assert (bad.status_code, bad.json()["field"]) == (422, "description")
    refused = {"name": "unmade", "design": DESIGN, "description": "a\0b"}
    assert admin.post("/v1/experiments", json=refused).status_code == 422
    assert admin.get("/v1/experiments/unmade").status_code == 404
    for search, names in (("green Q3", ["worded"]), ("nothing like it", [])):
        answer = admin.get("/v1/experiments", params={"search": search}).json()
        assert [one["name"] for one in answer["experiments"]] == names
    with signed_in(service) as browser:
        shown = browser.get("/tests/worded").text
        assert "Ann &lt;b&gt;" in shown
        assert 'href="https://wiki.example/x"' in shown
        assert "/tests/worded" in browser.get("/", params={"search": "q3"}).text
        form = {"name": "typed", "lift": "50%", "csrf_token": token(browser), "start": "yes"}
        unsafe = browser.post("/new", data={**form, "description": "a\0b"})
        assert unsafe.status_code == 422
        assert "Description must be printable text" in html.unescape(unsafe.text)
        typed = {"description": "Bea, till: javascript:x"}
        assert browser.post("/new", data={**form, **typed}).status_code == 303
        page = browser.get("/tests/typed").text
        assert "Bea, till: javascript:x" in page
        assert 'href="javascript' not in page
        assert "/tests/typed" in browser.get("/", params={"search": "till bea"}).text
        nothing = browser.get("/", params={"search": "<i>none"}).text
        assert "/tests/worded" not in nothing
        assert "No test has these words: &lt;i&gt;none" in nothing


def test_a_report_has_the_decision_of_the_test(
    service: Service, admin: httpx.Client, name: str
) -> None:
    test = service.store.get(name)
    for i in range(200):
        arm = test.assign(f"u{i}")
        test.record(f"u{i}", float(arm == "green"))
    service.clock.advance("8d")
    status = test.status()
    assert status.decision is not None
    answer = admin.get(f"/v1/experiments/{name}/report")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}-report.html"'
    assert status.headline in html.unescape(answer.text)
    assert "Decided: green" in answer.text
    assert "u17" not in answer.text
    data = admin.get(f"/v1/experiments/{name}/report", params={"form": "json"}).json()
    assert data["status"]["decision"]["name"] == "green"
    assert data["history"][-1]["matured"] == status.matured


def test_words_on_the_command_line(
    tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import bascule as bs

    monkeypatch.setenv("BASCULE_STORE", f"{tmp_path}/shop.db")
    with bs.open(f"{tmp_path}/shop.db") as store:
        store.create("button", bs.Design.from_dict(DESIGN))

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as left:
            main(["experiment", *arguments])
        assert left.value.code == 0
        return capsys.readouterr().out

    assert run("describe", "button", "--description", "Ann: q3, shop") == "Ann: q3, shop\n"
    assert "button" in run("list", "--search", "ann q3")
    assert run("list", "--search", "bob") == "no experiment has 'bob' in its name or description\n"
    assert "Ann: q3, shop" in run("status", "button")
