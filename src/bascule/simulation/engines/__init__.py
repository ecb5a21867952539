"""Engines that play the runs of a simulation, and the backends on which they run."""
