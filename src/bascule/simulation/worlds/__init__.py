"""Worlds: the conditions of a simulated test."""
