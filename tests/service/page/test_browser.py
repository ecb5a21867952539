"""The page in a real Chromium: from the form to the decision, without a complaint or a request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.service.running import Service

import bascule as bs
from bascule.service.auth.access import COOKIE
from bascule.service.auth.keys import open_session

PHONE, DESK = 390, 1200
BUYS = {"control": 10, "variant": 3, "third": 9}
"""Every so many visitors of an arm one buys: whichever order arms come in, the means are these."""

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


class Visit:
    """A tab that keeps what the browser complained about and where it sent requests."""

    def __init__(self, browser: Any, service: Service, width: int = DESK, **options: Any) -> None:
        self.service = service
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.view = self.context.new_page()
        # Planning alone takes half a minute on a machine that others keep busy.
        self.view.set_default_timeout(120_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.view.on("console", lambda message: self._hear(message.text))
        self.view.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.view.on("request", lambda request: self.requests.append(request.url))

    def _hear(self, text: str) -> None:
        # A question that is asked anew calls off the one under way, which htmx reports so.
        if not text.startswith(("htmx:afterRequest", "htmx:sendAbort")):
            self.complaints.append(text)

    def go(self, path: str) -> None:
        self.view.goto(self.service.url + path)

    def sign_in(self) -> None:
        """Come as one who has signed in before."""
        made = open_session(self.service.store, None, time.time(), 1.0)
        cookie = {"name": COOKIE, "value": made.token, "url": self.service.url}
        self.context.add_cookies([cookie])

    def banner(self, text: str) -> None:
        """Wait until the banner says so."""
        self.view.locator("#banner h2", has_text=text).wait_for()

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert all(request.startswith(self.service.url) for request in self.requests)


FRAMES = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"""
"""Two frames: charts follow the width of the window in the first of them."""

WIDER = """Array.from(document.querySelectorAll(".scroll:not(.low), #audit-scroll")).filter(
    (one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""
"""Tables that are wider than their place, but for those of charts, which scroll."""


@pytest.fixture
def visit(browser: Any, service: Service) -> Iterator[Visit]:
    made = Visit(browser, service)
    made.sign_in()
    yield made
    made.close()


def feed(service: Service, name: str, first: int, units: int) -> None:
    """Visitors who buy or not, through the store."""
    test = service.store.get(name)
    came = dict.fromkeys(BUYS, 0)
    for some in range(first, first + units, 50):
        names = [f"u{i}" for i in range(some, some + 50)]
        outcomes = []
        for unit, arm in zip(names, test.assign_many(names), strict=True):
            came[arm] += 1
            outcomes.append((unit, float(came[arm] % BUYS[arm] == 0)))
        test.record_many(outcomes)
        service.clock.advance("1h")


def test_from_the_key_over_the_form_to_the_decision(browser: Any, service: Service) -> None:
    visit = Visit(browser, service)
    view = visit.view
    visit.go("/")
    view.get_by_label("API key").fill(service.keys["admin"])
    view.keyboard.press("Enter")
    view.get_by_role("heading", name="No tests yet").wait_for()
    # The planner answers beside the form, and again when something else is typed.
    view.get_by_role("link", name="New test").first.click()
    answer = view.locator("#answer-title")
    view.locator("#answer-title", has_text="a decision in").wait_for()
    # While the first window is open nobody knows which arm is better, and enrolment ends in it.
    assert answer.inner_text().startswith("Run an even split: a decision in 10 days")
    view.get_by_label("Name").fill("checkout-button")
    view.locator("#baseline").fill("10%")
    before = view.locator("#create").bounding_box()
    view.locator("#lift").fill("no")
    view.locator("#lift-problem", has_text="Minimum detectable effect must be a number").wait_for()
    # However long the answer is, nobody's click goes astray.
    assert view.locator("#create").bounding_box() == before
    view.locator("#lift").fill("200%")
    view.locator("#answer", has_text="10 % against 30 %").wait_for()
    assert view.locator("[role=status]#answer-said").inner_text() == answer.inner_text()
    view.get_by_role("radio", name="Count the first value recorded").check()
    # Nothing is created from a plan that is not on the screen yet.
    view.locator("#answer", has_text="0/1 outcomes; 5,000 units a day").wait_for()
    view.get_by_text("All designs").click()
    view.get_by_role("radio", name="Tilted blocks, tilt 3 (Tilt_3)").check()
    view.get_by_role("button", name="Create the test").click()
    view.wait_for_url("**/tests/checkout-button")
    visit.banner("Waiting for the first unit")

    # It fills while one looks on: nothing is loaded again, nothing that is open closes.
    view.evaluate("window.stays = true")
    view.get_by_text("Allocation as a table").click()
    view.locator("#knob-range").focus()
    feed(service, "checkout-button", 0, 100)
    view.locator("#banner dd").get_by_text("100", exact=True).first.wait_for()
    assert view.locator("#allocation-table").is_visible()
    assert view.evaluate("document.activeElement.id") == "knob-range"
    assert view.locator("#allocation-table tbody tr").count() == 2
    view.locator("#effect-0-chart canvas").wait_for()

    # The knob, with the keyboard alone; what it will change is said before it is turned.
    view.keyboard.press("End")
    assert view.locator("#knob-value").input_value() == "20"
    view.locator("#knob-value").focus()
    view.keyboard.press("Enter")
    dialog = view.locator("#dialog")
    dialog.get_by_text("Turn tilt from 3 to 20?").wait_for()
    assert "The guarantee stays" in dialog.inner_text()
    assert "in place of" in dialog.inner_text()
    view.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert service.store.get("checkout-button").design.rule == bs.Tilt(3)
    view.get_by_role("button", name="Preview the change").click()
    dialog.get_by_role("button", name="Turn it to 20").click()
    view.locator("#notice", has_text="Tilt is 20 from now on").wait_for()
    view.locator("#audit", has_text="Turned tilt from 3 to 20").wait_for()
    assert service.store.get("checkout-button").design.rule == bs.Tilt(20)

    # The decision comes by itself, and the winner goes to everyone.
    feed(service, "checkout-button", 100, 1500)
    assert service.store.get("checkout-button").state == "decided"
    visit.banner("Ship variant: +")
    view.get_by_role("button", name="Give everyone variant").click()
    dialog.get_by_role("button", name="Release it").click()
    view.locator("#banner", has_text="All units get variant.").wait_for()
    assert view.evaluate("window.stays") is True
    said = view.locator("[aria-live=polite] #said").inner_text()
    assert said.startswith("Ship variant: +")
    visit.close()


def test_a_rule_that_is_chosen_while_a_plan_is_under_way_stays_chosen(visit: Visit) -> None:
    view = visit.view
    visit.go("/new")
    view.locator("#answer-title", has_text="a decision in").wait_for()
    held: list[Any] = []

    def hold(route: Any) -> None:
        if held:
            route.continue_()
        held.append(route)

    view.route("**/new/plan*", hold)
    with view.expect_request("**/new/plan*"):
        view.locator("#lift").fill("40%")
    view.get_by_text("All designs").click()
    chosen = view.get_by_role("radio", name="Tilted blocks, tilt 3 (Tilt_3)")
    assert not chosen.is_checked()
    chosen.check()
    held[0].continue_()
    view.locator("#answer", has_text="5 % against 7 %").wait_for()
    view.locator("tr.chosen", has_text="(Tilt_3)").wait_for()
    assert chosen.is_checked()


def test_a_plan_that_no_longer_fits_is_marked_and_asked_for_again(visit: Visit) -> None:
    """As when the service is started again while somebody fills in the form."""
    view, held = visit.view, list[Any]()

    def hold(route: Any) -> None:
        held.append(route)

    view.route("**/new/plan*", hold)
    with view.expect_request("**/new/plan*"):
        visit.go("/new")
    view.locator("#answer-title", has_text="Planning").wait_for()
    held.pop().continue_()
    view.locator("#answer-title", has_text="a decision in").wait_for()
    assert not view.locator("#answer.stale").count()
    view.unroute("**/new/plan*")
    view.route("**/new/plan*", lambda route: route.abort())
    with view.expect_event("requestfailed"):
        view.locator("#lift").fill("70%")
    view.locator("#answer.stale .busy", has_text="Planning").wait_for()
    view.unroute("**/new/plan*")
    view.locator("#answer:not(.stale)", has_text="5 % against 8.5 %").wait_for()
    visit.complaints.clear()


def test_what_is_renewed_while_a_button_is_pressed_loses_no_click(visit: Visit) -> None:
    visit.service.store.create(
        "pressed", bs.Design(["control", "variant"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    visit.go("/tests/pressed")
    view, renewed = visit.view, '<div id="actions" hx-swap-oob="true">renewed</div>'
    view.locator("#actions button", has_text="Stop").hover()
    view.mouse.down()
    view.evaluate("html => htmx.swap('#notice', html, {swapStyle: 'none'})", renewed)
    assert "renewed" not in view.locator("#actions").inner_text()
    view.mouse.up()
    view.locator("#dialog[open]").wait_for()


def test_a_question_that_the_service_cannot_answer_is_said_to_be_one(visit: Visit) -> None:
    visit.service.store.create(
        "busy", bs.Design(["control", "variant"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    visit.go("/tests/busy")
    visit.view.route("**/ask/stop*", lambda route: route.fulfill(status=503))
    visit.view.locator("#actions button", has_text="Stop").click()
    visit.view.locator("#notice", has_text="could not answer (503)").wait_for()
    assert visit.complaints
    visit.complaints.clear()


def test_charts_draw_what_their_tables_say(visit: Visit) -> None:
    visit.service.store.create(
        "drawn", bs.Design(["control", "variant"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    feed(visit.service, "drawn", 0, 600)
    visit.go("/tests/drawn")
    view = visit.view
    view.locator("#diagnostics .note").first.wait_for()
    view.locator("#effect-0-chart").scroll_into_view_if_needed()
    box = view.locator("#effect-0-chart .u-over").bounding_box()
    view.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
    told = view.locator("#effect-0-chart .readout").inner_text()
    view.get_by_text("variant - control as a table").click()
    last = view.locator("#effect-0-table tbody tr").last.inner_text().split("\t")
    assert told == f"{last[0]}: {last[2]} ({last[3]} to {last[4]}) points"
    painted = """id => {
      const canvas = document.querySelector('#' + id + ' canvas');
      const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return dots.filter((value, i) => i % 4 === 3 && value > 0).length / (dots.length / 4);
    }"""
    assert view.evaluate(painted, "effect-0-chart") > 0.05
    assert view.evaluate(painted, "allocation-chart") > 0.5


def test_injected_script_does_not_run(visit: Visit) -> None:
    evil = "<img src=x onerror='window.hurt=1'>"
    arms = [evil, "b<script>window.hurt=1</script>"]
    visit.service.store.create(
        "evil", bs.Design(arms, bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    visit.go("/tests/evil")
    assert visit.view.get_by_role("rowheader", name=evil, exact=True).is_visible()
    visit.view.wait_for_timeout(300)
    assert visit.complaints == []
    # Even where it does get into the page, by hand here, the policy keeps it from running.
    visit.view.evaluate("""() => {
      document.body.insertAdjacentHTML('beforeend', '<img src="/no" onerror="window.hurt = 1">');
      const script = document.createElement('script');
      script.textContent = 'window.hurt = 1';
      document.body.append(script);
    }""")
    visit.view.wait_for_timeout(300)
    assert visit.view.evaluate("typeof window.hurt") == "undefined"
    refused = [text for text in visit.complaints if "Content Security Policy" in text]
    assert len(refused) == 2
    visit.complaints.clear()


def test_it_can_be_read_on_every_screen(visit: Visit) -> None:
    arms = ["control", "variant", "third"]
    test = visit.service.store.create(
        "seen", bs.Design(arms, bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    feed(visit.service, "seen", 0, 100)
    drawn = [f"{one.name}: " for one in test.status().effects]
    visit.go("/tests/seen")
    shown = visit.view.locator(".intervals svg").all()
    for one, name in zip(shown, drawn, strict=True):
        assert (one.get_attribute("aria-label") or "").startswith(name)
    for path in ("/", "/tests/seen", "/new", "/glossary", "/tests/seen/ask/stop"):
        visit.go(path)
        for width in (PHONE, DESK):
            visit.view.set_viewport_size({"width": width, "height": 900})
            visit.view.evaluate(FRAMES)
            assert visit.view.evaluate("document.documentElement.scrollWidth") <= width, path
            assert visit.view.evaluate(WIDER) == [], (path, width)
            for scheme in ("light", "dark"):
                visit.view.emulate_media(color_scheme=scheme)
                assert visit.view.evaluate(CONTRAST) == [], (path, width, scheme)


def test_it_works_without_scripts(browser: Any, service: Service) -> None:
    tab = Visit(browser, service, java_script_enabled=False)
    tab.sign_in()
    tab.go("/new")
    tab.view.get_by_label("Name").fill("plain")
    tab.view.get_by_role("button", name="Create the test").click()
    tab.view.get_by_role("button", name="Pause").click()
    assert service.store.get("plain").state == "paused"
    planned = service.store.get("plain").design.rule.knob
    assert planned is not None
    tab.view.get_by_label("Tilt", exact=False).last.fill("7")
    tab.view.get_by_role("button", name="Preview the change").click()
    tab.view.get_by_role("button", name="Turn it to 7").click()
    turned = f"Turned tilt from {planned.value:g} to 7"
    assert tab.view.locator("#audit").inner_text().count(turned) == 1
    tab.close()


def test_who_is_signed_out_is_asked_for_a_key(visit: Visit) -> None:
    visit.service.store.create(
        "watched", bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    )
    visit.go("/tests/watched")
    visit.context.clear_cookies()
    visit.view.wait_for_url("**/sign-in")
    assert all("401" in text for text in visit.complaints)
    visit.complaints.clear()
