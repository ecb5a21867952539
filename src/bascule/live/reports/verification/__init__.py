"""Checks of a store: its log computed again, its rows, and its files."""
