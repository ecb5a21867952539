"""Worlds: what a simulated test meets."""
