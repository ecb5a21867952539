"""An OpenFeature provider: it evaluates flags by OFREP, and sends tracked events as outcomes.

    from openfeature import api
    from bascule.openfeature import BasculeProvider

    api.set_provider_and_wait(BasculeProvider("http://127.0.0.1:8000", key="bsc_...",
                                              events={"purchase": ["checkout-button"]}))
    client = api.get_client()
    client.get_string_value("checkout-button", "control", EvaluationContext("user-42"))
    client.track("purchase", EvaluationContext("user-42"), TrackingEventDetails(19.99))

It needs `pip install 'bascule[openfeature]'`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.provider import Metadata
from openfeature.track import TrackingEventDetails

import requests

LOGGER = logging.getLogger("bascule.openfeature")

WAITING = 10_000
"""Maximum number of outcomes waiting to be sent; further ones are dropped and logged."""

AT_ONCE = 500
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between successive attempts to send."""

ALL_REJECTED = 422
"""HTTP status of an answer that rejects all outcomes of a request."""

Sent = tuple[str, dict[str, Any]]


class BasculeProvider(OFREPProvider):
    """An OFREP provider that also sends tracked events as outcomes.

    `events` maps the name of an event to the tests that it is an outcome of; an event that is not
    listed is an outcome of the test with the same name. The value of an outcome is the tracked
    number, or 1. A thread of the provider sends up to `AT_ONCE` outcomes at a time. If the service
    does not answer, or answers with 429 or 5xx, the thread tries again after each of `PAUSES`, and
    then drops the outcomes with a warning. Each outcome has an id, so that none counts twice.
    `shutdown` waits until all outcomes are sent or dropped.

    The attributes `id`, `at` (a datetime), `exposed` and `metric` of a tracked event are sent with
    its outcome. With the attribute `per`, the outcome is a ratio: the tracked number is the
    numerator and `per` the denominator.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        events: Mapping[str, str | Sequence[str]] | None = None,
        timeout: float = 5.0,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        super().__init__(base_url, headers_factory=lambda: headers, timeout=timeout)
        self._events = {
            event: (tests,) if isinstance(tests, str) else tuple(tests)
            for event, tests in (events or {}).items()
        }
        self._waiting: queue.Queue[Sent | None] = queue.Queue(WAITING)
        self._sender: threading.Thread | None = None
        self._lock = threading.Lock()

    def get_metadata(self) -> Metadata:
        """Return the provider's metadata: its name, bascule."""
        return Metadata(name="bascule")

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Queue an outcome of the context's unit for sending; problems are logged, never raised."""
        unit = evaluation_context.targeting_key if evaluation_context else None
        if not unit:
            LOGGER.warning(
                "%s was not tracked: the context has no targeting key", tracking_event_name
            )
            return
        outcome = outcome_of(unit, tracking_event_details)
        for test in self._events.get(tracking_event_name, (tracking_event_name,)):
            try:
                self._waiting.put_nowait((test, outcome))
            except queue.Full:
                LOGGER.warning("%s was not tracked: too many outcomes wait", tracking_event_name)
        self._start()

    def shutdown(self) -> None:
        """Send all waiting outcomes, then stop."""
        with self._lock:
            sender, self._sender = self._sender, None
        if sender is not None:
            self._waiting.put(None)
            sender.join()
        super().shutdown()

    def _start(self) -> None:
        with self._lock:
            if self._sender is None:
                self._sender = threading.Thread(target=self._send_all, daemon=True)
                self._sender.start()

    def _send_all(self) -> None:
        """Send waiting outcomes, in one request for each test, until the provider is shut down."""
        while True:
            first = self._waiting.get()
            waiting = [] if first is None else [first]
            while first is not None and len(waiting) < AT_ONCE:
                try:
                    first = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if first is not None:
                    waiting.append(first)
            for test in dict(waiting):
                self._send(test, [outcome for name, outcome in waiting if name == test])
            if first is None:
                return

    def _send(self, test: str, outcomes: list[dict[str, Any]]) -> None:
        url = f"{self.base_url.rstrip('/')}/v1/experiments/{test}/outcomes"
        headers = self.headers_factory() if self.headers_factory else None
        problem = ""
        for pause in (*PAUSES, None):
            try:
                answer = requests.post(
                    url, json={"outcomes": outcomes}, headers=headers, timeout=self.timeout
                )
            except requests.RequestException as failed:
                problem = str(failed)
            else:
                if answer.ok or answer.status_code == ALL_REJECTED:
                    _warn(test, answer)
                    return
                problem = f"{answer.status_code}: {answer.text[:200]}"
                if answer.status_code != 429 and answer.status_code < 500:
                    break
            if pause is not None:
                time.sleep(pause)
        LOGGER.warning("%d outcomes of %s were not sent: %s", len(outcomes), test, problem)


def outcome_of(unit: str, details: TrackingEventDetails | None) -> dict[str, Any]:
    """Return a tracked event as an outcome in the form that the service accepts.

    >>> outcome_of("user-42", TrackingEventDetails(19.99, {"id": "order-1"}))["value"]
    19.99
    >>> outcome_of("user-42", TrackingEventDetails(3.0, {"per": 4}))["value"]
    [3.0, 4]
    """
    value = 1.0 if details is None or details.value is None else details.value
    outcome: dict[str, Any] = {"unit": unit, "value": value, "id": str(uuid.uuid4())}
    attributes = details.attributes if details is not None else {}
    outcome |= {
        name: attributes[name] for name in ("id", "at", "exposed", "metric") if name in attributes
    }
    if "per" in attributes:
        outcome["value"] = [value, attributes["per"]]
    if isinstance(outcome.get("at"), datetime):
        outcome["at"] = outcome["at"].astimezone(UTC).isoformat()
    return outcome


def _warn(test: str, answer: requests.Response) -> None:
    """Log the rejected outcomes, one line for each reason."""
    body = answer.json()
    if "reasons" not in body:
        LOGGER.warning("outcomes of %s were refused: %s", test, answer.text[:200])
        return
    for reason, count in body["reasons"].items():
        detail = next(one["detail"] for one in body["outcomes"] if one["reason"] == reason)
        LOGGER.warning("%d outcomes of %s do not count (%s): %s", count, test, reason, detail)
