"""Metrics: what is measured of a unit, over which window, and how arms compare on it."""
