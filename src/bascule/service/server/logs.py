"""Logs as JSON lines on standard error: one object a line, with time, level and event."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("bascule")


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object; what came with it becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line.

        >>> record = logging.LogRecord("bascule", 20, "", 0, "started", None, None)
        >>> json.loads(JsonLines().format(record))["event"]
        'started'
        """
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": when,
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "told", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log(event: str, level: str = "info", **told: Any) -> None:
    """Write a line to the log, if its level is wanted."""
    number = logging.getLevelNamesMapping()[level.upper()]
    if LOGGER.isEnabledFor(number):
        LOGGER.log(number, event, extra={"told": told})


def write_logs(level: str = "info") -> None:
    """Have the service's logs, and the server's, written as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("bascule", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level.upper())
        logger.propagate = name == "uvicorn.error"
    # Requests are logged by the service itself.
    logging.getLogger("uvicorn.access").disabled = True
