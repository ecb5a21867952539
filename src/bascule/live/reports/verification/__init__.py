"""Checks of a store: recomputation from its log, and checks of its rows and files."""
