"""Notifications in plain words, sent by a real Apprise to a server of the test's own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.service.notifications.test_webhooks import DESIGN, Listener, decide, listener
from tests.service.running import Service

import bascule as bs
from bascule.service.notifications.notify import check_targets

pytest.importorskip("apprise")

__all__ = ["listener"]

# Some of Apprise's services use modules that Python will drop.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_decision_is_told_in_plain_words_and_no_password_is_stored(
    listener: Listener, tmp_path: Path
) -> None:
    listener.status = 200
    address = listener.url.replace("http://", "json://ann:secret-word@")
    service = Service(str(tmp_path / "shop.db"), notify=(address,))
    try:
        until = time.monotonic() + 30
        while b"notify:" not in _files(tmp_path) and time.monotonic() < until:
            time.sleep(0.02)
        decide(service.store.create("button", DESIGN))
        while not listener.heard and time.monotonic() < until:
            time.sleep(0.02)
        (_, body), *_ = listener.heard
        told = json.loads(body)
        assert told["title"].startswith("button: Ship b: +")
        assert "either arm wins by mistake in at most 5 % of tests" in told["message"]
    finally:
        service.close()
    assert b"secret-word" not in _files(tmp_path)


@pytest.mark.parametrize("address", ["slacc://secret-word", "slack://secret-word"])
def test_an_address_that_is_wrong_is_refused_without_its_secrets(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Apprise itself logs `Could not load Slack URL: slack://secret-word`."""
    with pytest.raises(bs.InputError, match="no address of the kind 'slac") as refused:
        check_targets([address])
    assert "secret-word" not in str(refused.value) + caplog.text


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())
