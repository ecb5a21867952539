"""Engines that play the runs of a simulation on all threads."""
