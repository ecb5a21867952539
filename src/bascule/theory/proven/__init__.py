"""Bounds on the time and the regret of a test: proven ones, and those of the paper."""
