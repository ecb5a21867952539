"""Logs as JSON lines, and metrics for Prometheus, which have no names of users or tests."""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from queue import Full, Queue
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

STDERR = 2

MOST_LINES = 10_000
"""Maximum number of log lines that wait to be written."""

FLUSH_SECONDS = 1.0
"""Seconds that waiting log lines have to be written when the process ends."""


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON.

        >>> record = logging.LogRecord("bascule", 20, "", 0, "started", None, None)
        >>> json.loads(JsonLines().format(record))["event"]
        'started'
        """
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": time,
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


class LogWriter(logging.Handler):
    """Writes log lines to standard error in a separate thread.

    The program that reads the log may stop reading. A write would then block, and with it the event
    loop. So lines wait in a queue of limited length; if it is full, further lines are only counted,
    and their number is logged when there is room again.
    """

    def __init__(self, limit: int = MOST_LINES) -> None:
        super().__init__()
        self._lines: Queue[str] = Queue(limit)
        self._dropped = 0
        self.setFormatter(JsonLines())
        threading.Thread(target=self._write, name="bascule-log", daemon=True).start()
        atexit.register(self.flush)

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line to the queue; if the queue is full, drop the line and count it."""
        try:
            if self._dropped and not self._lines.full():
                lost, self._dropped = self._dropped, 0
                notice = logging.makeLogRecord({"msg": "lines of the log dropped", "levelno": 40})
                notice.levelname, notice.fields = "ERROR", {"lines": lost}
                self._lines.put_nowait(self.format(notice))
            self._lines.put_nowait(self.format(record))
        except Full:
            self._dropped += 1

    def flush(self) -> None:
        """Wait up to `FLUSH_SECONDS` until all lines are written."""
        deadline = time.monotonic() + FLUSH_SECONDS
        while self._lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.01)

    def _write(self) -> None:
        while True:
            # Bypasses `sys.stderr`: the lock of its buffer would be held while a write waits.
            with suppress(OSError):
                os.write(STDERR, f"{self._lines.get()}\n".encode())
            self._lines.task_done()


def write_logs(level: str = "info") -> None:
    """Write the logs of the service and of Uvicorn to standard error as JSON lines."""
    handler = LogWriter()
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
        self.outcomes = counter("bascule_outcomes", "Outcomes received, by result.", ["result"])
        self.deliveries = counter(
            "bascule_webhook_deliveries", "Attempts to send a message, by result.", ["result"]
        )
        # Without labels, so that it begins at 0: an alert would not see the first of a new series.
        self.errors = counter("bascule_errors", "Answers of status 5xx, except those of /readyz.")
        self.stalls = counter("bascule_stalls", "Times the event loop was blocked for seconds.")
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
        # Cached: the client library's own lookup takes longer than counting.
        self.of_answers = cache(self._of_answers)
        """The counter and the histogram of times of answers, by method, route and status."""

    def _of_answers(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return self._requests.labels(method, route, status), self._seconds.labels(route)

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        if FOLDER not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


METRICS_TYPE = CONTENT_TYPE_LATEST
