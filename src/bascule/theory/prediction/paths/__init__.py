"""Paths of a test: averages, on which noise cancels out, and paths with their noise."""
