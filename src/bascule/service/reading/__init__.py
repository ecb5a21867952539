"""Reads of the store that callers share: experiments, rendered pages, calls in threads."""
