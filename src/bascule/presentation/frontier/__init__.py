"""Frontiers as text and figures."""
