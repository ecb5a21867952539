"""Simulation of recurring outcomes."""
