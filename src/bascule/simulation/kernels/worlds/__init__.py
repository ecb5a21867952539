"""Compiled loops for any world: the functions that simulate a unit, and the loops of rules."""
