"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# Fixed examples: a test that passes passes again, and a failure can be replayed.
settings.register_profile("bascule", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("bascule")
