"""Tests that compare the intervals of arms after every unit."""
