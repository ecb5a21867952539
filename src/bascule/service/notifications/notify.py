"""Notifications in plain words to Slack, Teams, mail and other services, through Apprise.

They share the deliveries of the webhooks: each is stored, claimed by one worker, and tried again.
An address has passwords in it, so the store knows only its hash.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from bascule.core.errors import InputError
from bascule.live.api import Store
from bascule.presentation.report import lines
from bascule.service.notifications.webhooks import DEADLINE, Delivery, key_of
from bascule.service.reading.store_calls import StoreCalls

LONGEST_TITLE, LONGEST_TEXT = 200, 10_000
"""Characters of a message; the report itself is on the test's page."""

KIND = re.compile(r"[a-z0-9+.-]{1,30}://", re.I)
"""How an address begins; what follows may be a secret."""

SEVERAL = re.compile(rf"\s|,{KIND.pattern}", re.I)
"""What separates addresses; the whole of them would be sent again if one failed."""


def check_targets(urls: Sequence[str]) -> None:
    """Raise unless Apprise is there and knows every address; an address is never shown."""
    for url in urls:
        _plugin(url)


class Target:
    """An address of Apprise, and the message that is being sent to it.

    Apprise waits for the network in a thread, which nothing can end: a target may take one byte of
    an answer a minute. So an address has one thread at most. What was not sent in time is asked
    about at the next attempt, and sent again only if it failed.
    """

    what = "notification"

    def __init__(self, url: str) -> None:
        self._url = url
        self.key, self.shown = key_of("notify", url), f"{url.partition('://')[0]}://..."
        self._entry = 0
        self._sending: Future[bool] | None = None

    async def deliver(self, store: Store, calls: StoreCalls, sent: Delivery) -> str | None:
        """Send a message about an event; None if it was taken, or else why not."""
        if self._sending is None or (self._sending.done() and self._entry != sent.entry):
            title, body = await calls.short(message, store, json.loads(sent.body))
            self._begin(sent.entry, title, body)
        elif self._entry != sent.entry:
            return "an earlier message is still being sent"
        try:
            async with asyncio.timeout(DEADLINE):
                taken = await asyncio.wrap_future(self._sending)  # type: ignore[arg-type]
        except TimeoutError:
            return f"not sent within {DEADLINE:g} s"
        except Exception as problem:
            # Its message may have the address in it.
            self._sending = None
            return type(problem).__name__
        self._sending = None
        return None if taken else "not delivered"

    def _begin(self, entry: int, title: str, body: str) -> None:
        self._entry, self._sending = entry, Future()
        # So that nobody who gives up waiting cancels it.
        self._sending.set_running_or_notify_cancel()
        # No pool: Python would wait for its threads when the service ends.
        threading.Thread(
            target=_send, args=(self._sending, self._url, title, body), daemon=True
        ).start()


def message(store: Store, event: dict[str, Any]) -> tuple[str, str]:
    """Return the title, one line, and the text of a message about an event."""
    title, text = _words(store, event)
    return (
        _shortened(" ".join(_visible(title).split()), LONGEST_TITLE),
        _shortened(_visible(text), LONGEST_TEXT),
    )


def _words(store: Store, event: dict[str, Any]) -> tuple[str, str]:
    """Return the words about an event: of a decision, or an end without one, those of its report.

    They are the same as in the test's status.
    """
    data = event["data"]
    name = str(data.get("experiment", ""))
    if event["type"] == "harm":
        metrics = ", ".join(data.get("metrics", ()))
        return f"{name}: arm removed", f"{data.get('arm', '')} is harmful ({metrics})."
    if event["type"] not in ("decision", "end"):
        return f"{name}: {event['type']}", str(data.get("message", "Look at the test's page."))
    try:
        report = store.get(name).status().report()
    except InputError:
        # It was deleted meanwhile.
        return f"{name}: {event['type']}", str(data.get("name") or data.get("reason", ""))
    return f"{name}: {report.headline}", "\n".join(lines(report, width=0))


def _visible(text: str) -> str:
    """Return a text without control characters, which some services take as the end of a header."""
    return "".join(sign if sign == "\n" or sign.isprintable() else " " for sign in text)


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]} ... ({len(text) - longest:,} characters more on the test's page)"


def _send(sending: Future[bool], url: str, title: str, body: str) -> None:
    try:
        taken = bool(_plugin(url).notify(title=title, body=body))
    except BaseException as problem:
        sending.set_exception(problem)
    else:
        sending.set_result(taken)


def _plugin(url: str) -> Any:
    try:
        import apprise
    except ModuleNotFoundError:
        raise InputError(
            "notify", "notifications need Apprise: pip install 'bascule[notify]'"
        ) from None
    # Apprise logs addresses, passwords included; what became of a delivery is logged by us.
    logging.getLogger("apprise").disabled = True
    kind = KIND.match(url)
    is_one = kind is not None and not SEVERAL.search(url)
    made = apprise.Apprise.instantiate(url) if is_one else None
    if made is None:
        shown = "" if kind is None else f" (got {kind[0]}...)"
        raise InputError(
            "notify",
            f"Apprise does not take an address{shown}: give one address, as in "
            "slack://TokenA/TokenB/TokenC or mailto://user:password@host",
        )
    return made
