"""Notifications in plain words to Slack, Teams, mail and other services, through Apprise.

They share the deliveries of the webhooks: each is stored, claimed by one worker, and tried again.
An address contains passwords, so only its hash is stored.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from multiprocessing.context import SpawnProcess
from typing import Any

from bascule.core.errors import InputError
from bascule.live.api import Store
from bascule.presentation.report import lines
from bascule.service.notifications.apprise_process import begin_sending, plugin
from bascule.service.notifications.webhooks import EventDelivery, key_of
from bascule.service.outgoing import SECONDS
from bascule.service.reading.store_calls import StoreCalls

LONGEST_TITLE, LONGEST_TEXT = 200, 10_000
"""Maximum number of characters of a message's title and text; the test's page has the rest."""

LOOK_EVERY = 0.1
"""Seconds between checks whether a message was sent."""


def check_targets(urls: Sequence[str]) -> None:
    """Raise unless Apprise is installed and knows every address; errors never show an address."""
    for url in urls:
        plugin(url)


class NotificationTarget:
    """An Apprise address to which messages are sent, and the messages being sent.

    One message is sent at a time. If sending takes too long, the next attempt waits for its result
    instead of sending the message a second time.
    """

    what = "notification"

    def __init__(self, url: str) -> None:
        self._url = url
        self.key, self.shown = key_of("notify", url), f"{url.partition('://')[0]}://..."
        self._sending: dict[int, SpawnProcess] = {}

    async def deliver(self, store: Store, calls: StoreCalls, sent: EventDelivery) -> str | None:
        """Send a message about an event; return None if it was taken, or else the reason."""
        if sent.entry not in self._sending:
            if any(process.exitcode is None for process in self._sending.values()):
                return "an earlier message is still being sent"
            title, body = await calls.short(message, store, json.loads(sent.body))
            begun = await calls.short(begin_sending, self._url, title, body)
            self._sending[sent.entry] = begun
        process = self._sending[sent.entry]
        try:
            async with asyncio.timeout(SECONDS):
                while process.exitcode is None:
                    await asyncio.sleep(LOOK_EVERY)
        except TimeoutError:
            return f"not sent within {SECONDS:g} s"
        del self._sending[sent.entry]
        return None if process.exitcode == 0 else "not delivered"


def message(store: Store, event: dict[str, Any]) -> tuple[str, str]:
    """Return the title (one line) and the text of a message about an event."""
    title, text = _words(store, event)
    return (
        _shortened(" ".join(_visible(title).split()), LONGEST_TITLE),
        _shortened(_visible(text), LONGEST_TEXT),
    )


def _words(store: Store, event: dict[str, Any]) -> tuple[str, str]:
    """Return title and text about an event; for a decision or an end, those of the test's report.

    Headline and notes are the same as in the test's status.
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
        # The test was deleted in the meantime.
        return f"{name}: {event['type']}", str(data.get("name") or data.get("reason", ""))
    return f"{name}: {report.headline}", "\n".join(lines(report, width=0))


def _visible(text: str) -> str:
    """Return a text without control characters, which some services take as the end of a header."""
    return "".join(sign if sign == "\n" or sign.isprintable() else " " for sign in text)


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]} ... ({len(text) - longest:,} characters more on the test's page)"
