"""JSON answers, written the quick way."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response


def encode(data: Any) -> bytes:
    """Plain data as JSON, in ASCII: what a caller sent may not be valid text.

    >>> encode({"arm": "green"})
    b'{"arm":"green"}'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).encode("ascii")


class Answer(Response):
    """Plain data as a JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        return encode(content)
