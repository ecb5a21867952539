"""What Prometheus may know of a service: counts and times, and no names of users or tests."""

from __future__ import annotations

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Where the workers of one service put their counts together."""

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The counters of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "bascule_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "bascule_request_seconds",
            "How long an answer took.",
            ["route"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.outcomes = Counter(
            "bascule_outcomes",
            "Outcomes by what became of them.",
            ["result"],
            registry=self.registry,
        )
        self.deliveries = Counter(
            "bascule_webhook_deliveries",
            "Webhooks sent, by what became of them.",
            ["result"],
            registry=self.registry,
        )
        self.experiments = Gauge(
            "bascule_experiments",
            "Tests by state.",
            ["state"],
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        # To look a child up by its labels takes longer than to count.
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        which = (method, route, status)
        found = self._counted.get(which)
        if found is None:
            found = self._requests.labels(method, route, status), self._seconds.labels(route)
            self._counted[which] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        if FOLDER not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


MEDIA_TYPE = CONTENT_TYPE_LATEST
