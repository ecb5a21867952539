"""Logs as JSON lines and metrics for Prometheus: counts and times, no names of users or tests."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

LOGGER = logging.getLogger("bascule")


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON.

        >>> record = logging.LogRecord("bascule", 20, "", 0, "started", None, None)
        >>> json.loads(JsonLines().format(record))["event"]
        'started'
        """
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": when,
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log(event: str, level: str = "info", **fields: Any) -> None:
    """Write a line to the log if its level is enabled; keywords become fields of the line."""
    number = logging.getLevelNamesMapping()[level.upper()]
    if LOGGER.isEnabledFor(number):
        LOGGER.log(number, event, extra={"fields": fields})


def write_logs(level: str = "info") -> None:
    """Write the logs of the service and of Uvicorn to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("bascule", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level.upper())
        logger.propagate = name == "uvicorn.error"
    # Requests are logged by the service itself.
    logging.getLogger("uvicorn.access").disabled = True


FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which workers share their counts."""

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        labels = ["method", "route", "status"]
        self._requests = counter("bascule_requests", "Requests answered.", labels)
        self.outcomes = counter("bascule_outcomes", "Outcomes by what became of them.", ["result"])
        self.deliveries = counter(
            "bascule_webhook_deliveries", "Webhooks sent, by what became of them.", ["result"]
        )
        self._seconds = Histogram(
            "bascule_request_seconds",
            "How long an answer took.",
            ["route"],
            registry=self.registry,
            buckets=BUCKETS,
        )
        self.experiments = Gauge(
            "bascule_experiments",
            "Tests by state.",
            ["state"],
            registry=self.registry,
            multiprocess_mode="mostrecent",
        )
        # Looking a child up by its labels takes longer than counting.
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
        """All metrics in the format of Prometheus."""
        if FOLDER not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


METRICS_TYPE = CONTENT_TYPE_LATEST
