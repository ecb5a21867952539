"""JSON answers, written the quick way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
MEDIA_TYPE = (b"content-type", b"application/json")


def encode(data: Any) -> bytes:
    """Plain data as JSON, in ASCII: what a caller sent may not be valid text.

    >>> encode({"arm": "green"})
    b'{"arm":"green"}'
    """
    return ENCODER.encode(data).encode("ascii")


class Answer(Response):
    """Plain data as a JSON response; made with less ado than others, since most are of this kind.

    >>> Answer({"arm": "green"}).body
    b'{"arm":"green"}'
    """

    def __init__(
        self, content: Any, status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status_code = status_code
        self.background = None
        self.body = encode(content)
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), MEDIA_TYPE]
        for name, value in (headers or {}).items():
            self.raw_headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
