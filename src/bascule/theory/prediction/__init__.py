"""Predictions: how long a test takes and what it costs, without a simulation."""
