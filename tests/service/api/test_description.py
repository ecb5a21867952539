"""Words about a test over HTTP and on the page, and the report to hand around."""

from __future__ import annotations

import html

import httpx
import pytest
from tests.service.page.test_router import signed_in, token
from tests.service.running import DESIGN, Service

from bascule.cli.main import main

WORDS = {"owner": "Ann <b>", "hypothesis": "Green sells more", "tags": ["q3"]}


def test_words_are_shown_searched_and_changed(service: Service, admin: httpx.Client) -> None:
    made = admin.post(
        "/v1/experiments", json={"name": "worded", "design": DESIGN, "description": WORDS}
    )
    assert made.status_code == 201, made.text
    changed = admin.post(
        "/v1/experiments/worded/description", json={"links": ["https://wiki.example/x"]}
    )
    assert changed.json()["owner"] == "Ann <b>"
    assert admin.get("/v1/experiments/worded").json()["description"] == changed.json()
    bad = admin.post("/v1/experiments/worded/description", json={"links": ["javascript:x"]})
    assert (bad.status_code, bad.json()["field"]) == (422, "links")
    refused = {"name": "unmade", "design": DESIGN, "description": {"links": ["javascript:x"]}}
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
        unsafe = browser.post("/new", data={**form, "links": "javascript:x"})
        assert unsafe.status_code == 422
        assert "A link is as in https://wiki.example/page" in html.unescape(unsafe.text)
        typed = {"owner": "Bea", "tags": "q4, till", "links": "https://wiki.example/till"}
        assert browser.post("/new", data={**form, **typed}).status_code == 303
        assert "Owner: Bea" in browser.get("/tests/typed").text
        assert "/tests/typed" in browser.get("/", params={"search": "till bea"}).text
        nothing = browser.get("/", params={"search": "<i>none"}).text
        assert "/tests/worded" not in nothing
        assert "No test has these words: &lt;i&gt;none" in nothing


def test_a_report_has_the_decision_of_the_test(
    service: Service, admin: httpx.Client, name: str
) -> None:
    pytest.importorskip("ibis")
    early = admin.get(f"/v1/experiments/{name}/report")
    assert (early.status_code, early.json()["field"]) == (422, "experiment")
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
    assert "green is the best arm" in answer.text
    assert "u17" not in answer.text


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

    assert run("describe", "button", "--owner", "Ann", "--tag", "q3", "--tag", "shop") == (
        "owner: Ann\ntags: q3, shop\n"
    )
    assert "button" in run("list", "--search", "ann q3")
    assert run("list", "--search", "bob") == "no experiment has 'bob'\n"
    assert "owner: Ann" in run("status", "button")
