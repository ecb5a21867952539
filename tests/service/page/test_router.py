"""Who sees and changes what through the page, and that text stays text. No browser is needed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from tests.service.running import DESIGN, Service

import bascule as bs
from bascule.service.auth.keys import create_key, make_link
from bascule.service.reading.shared import FRESH

EVIL = "<script>window.hurt=1</script>"
HTML = {"accept": "text/html"}
HTMX = {"hx-request": "true"}


class Outline(HTMLParser):
    """What a page is made of: tags, labels, and whatever must not be there."""

    VOID = frozenset({"meta", "link", "input", "img", "br", "line", "circle", "rect", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [its for name, its in self.found if name == tag]


@contextmanager
def signed_in(
    service: Service, role: str = "admin", key: str | None = None
) -> Iterator[httpx.Client]:
    """A browser with a session, as far as cookies go."""
    with service.caller() as browser:
        browser.headers.update(HTML)
        answer = browser.post("/sign-in", data={"key": key or service.keys[role]})
        assert answer.status_code == 303, answer.text
        yield browser


def token(browser: httpx.Client) -> str:
    found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get("/").text)
    assert found is not None
    return found[1]


def seen(text: str) -> list[str]:
    return re.findall(r'name="seen" value="([^"]+)"', text)


def test_without_a_session_the_page_asks_for_a_key(service: Service) -> None:
    with service.caller() as stranger:
        answer = stranger.get("/", headers=HTML)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        for path in ("/live", "/tests/x", "/new", "/tests/x/live", "/new/plan"):
            assert stranger.get(path).status_code == 401
        assert stranger.post("/new", data={"name": "x"}).status_code == 401
        assert stranger.post("/sign-in", data={"key": "bsc_1_x"}).status_code == 401


def test_the_link_signs_in_once(service: Service) -> None:
    link = make_link(service.store, time.time())
    with service.caller() as browser, service.caller() as other:
        # Whoever follows the link, as a preview or a scanner does, uses nothing up.
        for _ in range(2):
            shown = other.get("/sign-in", params={"token": link})
            assert shown.status_code == 200
            assert f'name="token" value="{link}"' in shown.text
            assert "set-cookie" not in shown.headers
        evil = {"Origin": "https://evil.example"}
        assert other.post("/sign-in", data={"token": link}, headers=evil).status_code == 403
        assert browser.post("/sign-in", data={"token": link}).headers["location"] == "/"
        assert browser.get("/", headers=HTML).status_code == 200
        again = other.post("/sign-in", data={"token": link})
        assert again.status_code == 401
        assert "sign in with a key" in again.text.lower()


def test_a_viewer_looks_and_changes_nothing(service: Service, name: str) -> None:
    with signed_in(service, "viewer") as browser:
        shown = browser.get(f"/tests/{name}").text
        assert "Only a user with an admin key" in shown
        assert "hx-post" not in shown
        assert browser.get("/new").status_code == 403
        given = {"csrf_token": token(browser)}
        assert browser.post(f"/tests/{name}/do/pause", data=given).status_code == 403
    assert service.store.get(name).state == "running"


def test_a_change_needs_the_token(service: Service, name: str) -> None:
    with signed_in(service) as browser, signed_in(service) as other:
        for wrong in ({}, {"csrf_token": "0"}, {"csrf_token": token(other)}):
            assert browser.post(f"/tests/{name}/do/pause", data=wrong).status_code == 403
            assert browser.post("/new", data={"name": "sneaked", **wrong}).status_code == 403
        assert service.store.get(name).state == "running"
        good = {"csrf_token": token(browser)}
        assert browser.post(f"/tests/{name}/do/pause", data=good).status_code == 303
        assert service.store.get(name).state == "paused"
        assert browser.get(f"/tests/{name}/do/start").status_code == 405


def test_a_key_for_one_test_shows_that_one_only(service: Service, name: str) -> None:
    service.store.create(
        "other-one", bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(2), reports="always")
    )
    with signed_in(service, key=create_key(service.store, "admin", [name])) as browser:
        assert f"/tests/{name}" in browser.get("/").text
        assert "other-one" not in browser.get("/").text
        given = {"csrf_token": token(browser)}
        for path in ("/tests/other-one", "/tests/other-one/live", "/tests/other-one/ask/stop"):
            assert browser.get(path).status_code == 403
        assert browser.post("/tests/other-one/do/stop", data=given).status_code == 403
    assert service.store.get("other-one").state == "running"


def test_who_changed_something_is_in_the_log(service: Service, name: str) -> None:
    with signed_in(service, key=create_key(service.store, "admin", label="ann")) as browser:
        given = {"csrf_token": token(browser), "value": "8"}
        browser.post(f"/tests/{name}/do/knob", data=given)
        assert "Turned tilt from 3 to 8" in browser.get(f"/tests/{name}").text
    last = service.store.get(name).audit()[-1]
    assert last["action"] == "knob"
    assert last["actor"].startswith("ann")


def test_a_test_of_the_same_name_as_a_deleted_one_has_a_history_of_its_own(
    service: Service, name: str
) -> None:
    def decided() -> bs.Experiment:
        test = service.store.get(name)
        for i in range(300):
            test.record(i, float(test.assign(i) == "green"))
            if test.state == "decided":
                break
        return test

    before = decided()
    before.release()
    with signed_in(service) as browser:
        assert "All units get green." in browser.get(f"/tests/{name}").text
        before.stop()
        service.store.delete(name)
        service.store.create(name, bs.Design.from_dict(DESIGN))
        decided()
        # Another program changed the store: a page is at most a second old.
        time.sleep(FRESH)
        for path in ("/", f"/tests/{name}"):
            shown = browser.get(path).text
            assert "New units get green" in shown
            assert "All units get green" not in shown
        assert "Released" not in browser.get(f"/tests/{name}").text
        assert "Give everyone green" in browser.get(f"/tests/{name}").text
    # The log of the store itself still has everything that happened under the name.
    assert [entry["action"] for entry in service.store.audit(name)].count("release") == 1


def test_only_what_is_new_is_sent(service: Service, name: str) -> None:
    with signed_in(service) as browser:
        has = seen(browser.get(f"/tests/{name}").text)
        assert len(has) == 10
        way = f"/tests/{name}/live"
        assert browser.get(way, params={"seen": has}).status_code == 204
        service.store.get(name).pause()
        time.sleep(FRESH)
        answer = browser.get(way, params={"seen": has})
        new = {part.partition(".")[0] for part in seen(answer.text)}
        assert new == {"said", "banner", "actions", "audit"}
        assert answer.text.count("hx-swap-oob") == len(new)


def test_only_news_are_read_out(service: Service, name: str) -> None:
    test = service.store.get(name)
    test.record_many([(f"u{i}", 1.0) for i in range(2) if test.assign(f"u{i}")])
    with signed_in(service) as browser:
        has = seen(browser.get(f"/tests/{name}").text)
        test.assign("u2")
        time.sleep(FRESH)
        answer = browser.get(f"/tests/{name}/live", params={"seen": has})
        new = {part.partition(".")[0] for part in seen(answer.text)}
        assert "banner" in new
        assert "said" not in new


def test_a_change_answers_with_what_it_changed(service: Service, name: str) -> None:
    with signed_in(service) as browser:
        has = seen(browser.get(f"/tests/{name}").text)
        headers = {**HTMX, "X-CSRF-Token": token(browser)}
        way = f"/tests/{name}/do/pause"
        done = browser.post(way, data={"seen": has}, headers=headers)
        assert "is paused." in done.text
        assert done.headers["hx-trigger"] == "changed"
        again = browser.post(way, data={"seen": has}, headers=headers)
        assert again.status_code == 200
        assert "cannot pause now" in again.text


def test_script_stays_text_wherever_it_is_typed(service: Service) -> None:
    arms = [EVIL, f"b{EVIL}", 'c" onload="x', "d' {{ 7 * 7 }}"]
    design = bs.Design(arms, bs.Bernoulli(), bs.Tilt(3), reports="always")
    test = service.store.create("evil", design)
    units = [f"u{i}" for i in range(120)]
    test.assign_many(units)
    test.record_many([(unit, float(i % 3 == 0)) for i, unit in enumerate(units)])
    test.drop_arm(arms[3])
    key = create_key(service.store, "admin", label=EVIL)
    with signed_in(service, key=key) as browser:
        given = {"csrf_token": token(browser), "arm": arms[2]}
        browser.post("/tests/evil/do/pause", data=given)
        typed = dict.fromkeys(("name", "arms", "lift", "error", "window", "sigma", "rule"), EVIL)
        pages = [
            browser.get("/"),
            browser.get("/tests/evil"),
            browser.get("/tests/evil/live"),
            browser.get("/tests/evil/diagnostics"),
            browser.get("/tests/evil/ask/drop-arm", params={"arm": arms[0]}),
            browser.get("/tests/evil/ask/knob", params={"value": EVIL}),
            browser.get("/new/plan", params=typed),
            browser.post("/new", data={**typed, **given}),
            browser.get(f"/tests/{EVIL}"),
            browser.get("/sign-in", params={"token": EVIL}),
        ]
    for answer in pages:
        outline = Outline(answer.text)
        assert all(script["src"] for script in outline.all("script")), answer.url
        for tag, attributes in outline.found:
            assert not [its for its in attributes if its.startswith("on") or its == "style"], tag
        assert "49" not in re.findall(r"d&#39; (\S+)", answer.text)
    assert "&lt;script&gt;" in pages[1].text


@pytest.mark.parametrize("path", ["/", "/new", "/sign-in", "/tests/NAME", "/tests/nothing"])
def test_pages_are_well_formed_and_labelled(service: Service, name: str, path: str) -> None:
    with signed_in(service) as browser:
        text = browser.get(path.replace("NAME", name)).text
    outline = Outline(text)
    assert outline.open == []
    ids = [its["id"] for _, its in outline.found if its.get("id")]
    assert len(ids) == len(set(ids))
    labelled = {its.get("for") for its in outline.all("label")}
    for field in outline.all("input") + outline.all("textarea") + outline.all("select"):
        boxed = field.get("type") in ("hidden", "radio", "checkbox")
        assert boxed or field.get("id") in labelled or field.get("aria-label"), field
    assert len(outline.all("h1")) == 1
    assert len(outline.all("main")) == 1
    for tag, where in (("script", "src"), ("link", "href"), ("img", "src")):
        assert all(str(its[where]).startswith("/static/") for its in outline.all(tag))


def test_a_form_that_cannot_be_used_says_why_beside_the_field(service: Service, name: str) -> None:
    with signed_in(service) as browser:
        given = {"csrf_token": token(browser), "arms": "a\nb", "lift": "30%"}
        for wrong, told in ((name, "There is an experiment"), ("a b", "Name must be 1 to 100")):
            answer = browser.post("/new", data={**given, "name": wrong})
            assert answer.status_code == 422
            assert told in answer.text
            assert f'value="{wrong}"' in answer.text
        # It stays until it is mended, beside the plan, which does not depend on it.
        asked = {"arms": "a\nb", "lift": "30%", "tried": "yes"}
        shown = browser.get("/new/plan", params={**asked, "name": "a b"}).text
        assert "Name must be 1 to 100" in shown
        assert "a decision in" in shown
        assert "Name must be" not in browser.get("/new/plan", params={**asked, "name": "c"}).text


def test_an_admin_whose_key_is_limited_is_told_which_tests_it_may_create(service: Service) -> None:
    key = create_key(service.store, "admin", ["of-the-key"])
    with signed_in(service, key=key) as browser:
        given = {"csrf_token": token(browser), "arms": "a\nb", "lift": "30%", "name": "another"}
        answer = browser.post("/new", data=given)
    assert answer.status_code == 422
    assert "Name must be one that your key is for, of-the-key" in answer.text
    assert 'value="another"' in answer.text


def test_a_test_is_created_from_the_plan_on_the_screen_only(service: Service) -> None:
    typed = {"arms": "grün\nb", "lift": "30%", "name": "on-the-screen"}
    with signed_in(service) as browser:
        shown = Outline(browser.get("/new/plan", params={**typed, "lift": "40%"}).text)
        (mark,) = (its["value"] for its in shown.all("input") if its.get("name") == "shown")
        given = {**typed, "csrf_token": token(browser), "shown": mark}
        answer = browser.post("/new", data=given)
        assert (answer.status_code, "was not the plan of this form" in answer.text) == (422, True)
        # Every card has a row with the days at no effect, by which the fastest design is chosen.
        cards = answer.text.count('class="role"')
        details = answer.text.split("<summary>Details</summary>")[1].split("</table>")[0]
        assert 1 <= cards == details.count('scope="row"') <= 3
        assert "–" not in details
        (now,) = (
            its["value"] for its in Outline(answer.text).all("input") if its.get("name") == "shown"
        )
        answer = browser.post("/new", data={**given, "shown": now}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/tests/on-the-screen")
        assert service.store.get("on-the-screen").design.arms == ("grün", "b")
        # The design on the page says what its error bounds.
        assert "false positive rate at most" in browser.get("/tests/on-the-screen").text


def test_what_was_excluded_is_counted_and_all_can_be_downloaded(
    service: Service, name: str
) -> None:
    test = service.store.get(name)
    test.assign("u1")
    test.record_many([("u1", 1.0), ("nobody", 1.0), ("no one", 1.0), ("u1", 7.0)])
    with signed_in(service, "viewer") as browser:
        shown = browser.get(f"/tests/{name}/diagnostics").text
        assert "3 outcomes were excluded: unknown unit (2), out of range (1)." in shown
        links = [its["href"] for its in Outline(browser.get(f"/tests/{name}").text).all("a")]
        wanted = [link for link in links if link and "/export" in link]
        assert [browser.get(link).text.count("unit-0,") for link in wanted] == [1, 1]


def test_static_files_come_with_their_licences(service: Service) -> None:
    with service.caller() as anyone:
        for name in ("htmx", "uPlot"):
            assert anyone.get(f"/static/vendor/{name}.LICENSE.txt").status_code == 200
        assert anyone.get("/static/../app.py").status_code in (400, 404)


def test_pages_of_rules_that_assign_one_by_one_are_shown(service: Service) -> None:
    design = bs.Design(["a", "b", "c"], bs.Bernoulli(), bs.UCB(2), reports="always")
    test = service.store.create("one-by-one", design)
    for i in range(60):
        test.record(i, float(test.assign(i) == "b" or i % 7 == 0))
    with signed_in(service) as browser:
        shown = browser.get("/tests/one-by-one")
        assert shown.status_code == 200
        assert "b - a: " in shown.text
        checked = browser.get("/tests/one-by-one/diagnostics", headers=HTMX).text
    # Nothing was left to chance that could be compared with.
    assert "Not checked, no assignments with logged probabilities: sample ratio" in checked


def test_a_logged_mismatch_is_the_headline_of_page_and_list(service: Service, name: str) -> None:
    from bascule.core.diagnostics import Diagnostic
    from bascule.live.reports.diagnostics import put_into_log

    alarm = Diagnostic("sample ratio", 900.0, 1e-4, 0.01, "any time", "units are lost")
    service.store.get(name)._do(lambda work: put_into_log(work, alarm))
    with signed_in(service, "viewer") as browser:
        for path in ("/", f"/tests/{name}"):
            assert "Sample ratio mismatch: find the cause" in browser.get(path).text
