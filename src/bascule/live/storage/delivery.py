"""Layers and holdouts: which units are left for a new experiment by the others in the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from bascule.core.design import Design
from bascule.core.enrolment.audience import (
    SLOTS,
    Audience,
    Delivery,
    Layer,
    checked_values,
    delivery_from_json,
    free_slots,
    read_audience,
)
from bascule.core.errors import InputError, invalid
from bascule.live.storage.statements import execute, fetch

_OTHERS = "SELECT name, phase, delivery FROM experiments WHERE delivery IS NOT NULL"
_LOCK = "LOCK TABLE experiments IN SHARE ROW EXCLUSIVE MODE"


def checked_delivery(
    design: Design, audience: Audience | Mapping[str, Any] | None, values: Mapping[str, Any] | None
) -> Delivery:
    """Return the checked audience and arm values of a test; raise `InputError` if invalid."""
    if isinstance(audience, Mapping):
        audience = read_audience(dict(audience))
    if audience is not None and not isinstance(audience, Audience):
        raise invalid(f"audience must be an Audience (got {audience!r:.60})")
    return Delivery(audience, None if values is None else checked_values(values, design.arms))


def placed(connection: Connection, delivery: Delivery) -> Delivery:
    """Return the delivery with slots of its layer that no experiment in progress has.

    Raise `InputError` if too few are left, or if a holdout of the same name has another share.
    """
    audience = delivery.audience
    if audience is None or (audience.layer is None and audience.holdout is None):
        return delivery
    if connection.dialect.name != "sqlite":
        # If two programs create experiments in a layer at once, the second one waits.
        execute(connection, _LOCK, ())
    neighbours = [*_others(connection)]
    for name, other in neighbours:
        mine, theirs = audience.holdout, other.holdout
        if mine is not None and theirs is not None and mine.name == theirs.name and mine != theirs:
            raise invalid(
                f"holdout {mine.name!r} has {100 * theirs.share:g} % in {name}: give it the same "
                f"here (got {100 * mine.share:g} %), or another name"
            )
    if audience.layer is None:
        return delivery
    layers = [neighbour.layer for _, neighbour in neighbours if neighbour.layer is not None]
    layer = _placed(
        audience.layer, [layer for layer in layers if layer.name == audience.layer.name]
    )
    return delivery._replace(audience=replace(audience, layer=layer))


def check_places(connection: Connection, name: str, delivery: Delivery) -> None:
    """Raise if an imported experiment shares slots of a layer with one here that has not ended."""
    layer = None if delivery.audience is None else delivery.audience.layer
    if layer is None:
        return
    if connection.dialect.name != "sqlite":
        execute(connection, _LOCK, ())
    for other, audience in _others(connection):
        other_layer = audience.layer
        if other_layer is None or other_layer.name != layer.name:
            continue
        if any(a < d and c < b for a, b in layer.slots for c, d in other_layer.slots):
            raise InputError(
                "layer",
                f"{name} and {other} have units of layer {layer.name!r} in common: stop one of the "
                "two first, so that no unit is in both",
                kind="conflict",
            )


def _placed(layer: Layer, neighbours: list[Layer]) -> Layer:
    taken = [slots for neighbour in neighbours for slots in neighbour.slots]
    free = free_slots(layer.needed, taken)
    if free is None:
        left = SLOTS - sum(last - first for first, last in taken)
        raise invalid(
            f"layer {layer.name!r} has {100 * left / SLOTS:g} % of its units left "
            f"(got {100 * layer.share:g} %): give less, or stop a test in it",
            kind="conflict",
        )
    return replace(layer, slots=free)


def _others(connection: Connection) -> Iterator[tuple[str, Audience]]:
    """Yield the names and audiences of all experiments that have not ended."""
    for name, phase, text in fetch(connection, _OTHERS):
        audience = delivery_from_json(text).audience
        if phase not in ("over", "stopped") and audience is not None:
            yield name, audience
