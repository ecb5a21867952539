"""Metrics: how events of a unit become its outcome, and how arms are compared on each metric."""
