"""Draw the picture of the dashboard: `python docs/screenshot.py docs/images/dashboard.png`.

It needs Chromium, as `make test` does. The test in the picture is made up, and always the same.
"""

from __future__ import annotations

import io
import random
import shutil
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

WIDTH, HEIGHT = 1200, 1690
COLOURS = 128


def main(path: Path) -> None:
    """Fill a store, serve it, and take the picture."""
    import uvicorn
    from PIL import Image
    from playwright.sync_api import sync_playwright

    import bascule as bs
    from bascule.service.auth.keys import make_link
    from bascule.service.server.app import make_app
    from bascule.service.server.run import address, listen
    from bascule.service.settings import Settings

    clock = bs.ManualClock(datetime(2026, 3, 2, 8, tzinfo=UTC))
    store = bs.open(":memory:", actor="ann", clock=clock, shuffle=random.Random(4).shuffle)
    fill(bs, store, clock)
    settings = Settings(port=0)
    listening = listen(settings)
    server = uvicorn.Server(uvicorn.Config(make_app(store, settings), log_config=None))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    url = address(settings, listening)
    with sync_playwright() as control:
        chromium = control.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        view = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        view.goto(f"{url}/sign-in?token={make_link(store, time.time())}")
        view.locator("button.primary").click()
        view.goto(f"{url}/tests/checkout-form")
        view.locator("#diagnostics .note").first.wait_for()
        taken = Image.open(io.BytesIO(view.screenshot()))
        chromium.close()
    server.should_exit = True
    thread.join()
    # A page has few colours; so the picture is a quarter of the size.
    taken.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def fill(bs, store, clock):
    """Days of a shop in which a short form sells more."""
    window = bs.Measure("2d", "any")
    design = bs.Design(
        ["today", "short"],
        bs.Bernoulli(),
        bs.Tilt(5, effect=0.03, power=0.9, baseline=0.1, futility=0.2),
        measure=window,
    )
    words = "Fewer fields: more people finish their order"
    test = store.create("checkout-form", design, description=words)
    chance, buys = random.Random(8), {"today": 0.10, "short": 0.13}
    for quarter in range(36):
        units = [f"{quarter}-{i}" for i in range(60)]
        arms = test.assign_many(units)
        pairs = zip(units, arms, strict=True)
        test.record_many([(unit, 1.0) for unit, arm in pairs if chance.random() < buys[arm]])
        clock.advance("6h")
        test.settle()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
