"""Simulation of units whose outcomes keep coming."""
