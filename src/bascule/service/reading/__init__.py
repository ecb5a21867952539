"""Shared reads of the store: cached experiments, rendered pages, and calls in threads."""
