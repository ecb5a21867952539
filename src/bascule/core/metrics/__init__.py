"""Metrics: the measure of a unit, its window, and the comparison of arms on it."""
