"""Loops in any world: a unit of a world, and the rules that play in it."""
