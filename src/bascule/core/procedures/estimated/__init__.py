"""Tests in blocks whose outcomes have a spread that nobody knows: it is estimated."""
