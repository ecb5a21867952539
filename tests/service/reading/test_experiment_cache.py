"""The experiments of a store in memory, and their statuses in a list."""

from __future__ import annotations

import bascule as bs
from bascule.live.api.reads import read_summaries
from bascule.service.auth.keys import Caller
from bascule.service.page.render import list_fragments
from bascule.service.reading.shared import ExperimentCache
from bascule.service.reading.store_calls import StoreCalls
from bascule.service.server.background import behind

DAY = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def test_a_list_names_the_tests_whose_units_are_still_to_be_counted() -> None:
    clock = bs.ManualClock()
    with bs.open(":memory:", clock=clock) as store:
        directory = ExperimentCache(store, StoreCalls())
        for name in ("settled", "behind"):
            store.create(name, DAY).assign_many(["u", "v"])
        clock.advance("2d")
        store.get("settled").settle()
        entries = [*read_summaries(store, {})[0].values()]
        listing = directory.statuses(entries)
        assert [status.matured for status in listing.statuses] == [2, 0]
        assert (listing.settling, listing.unreadable) == (["behind"], [])
        assert [entry.name for entry in behind(entries)] == ["behind"]
        page = list_fragments(directory, entries, Caller("ann", "viewer"))["tests"].html
        assert page.count("some are being counted") == 1
        store.get("behind").settle()
        entries = [*read_summaries(store, {one.test.id: one for one in entries})[0].values()]
        assert directory.statuses(entries).settling == []
        assert behind(entries) == []
        assert [status.matured for status in directory.statuses(entries).statuses] == [2, 2]
