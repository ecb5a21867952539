"""Tests that proceed in blocks of random order, with every pair of arms compared."""
