"""Tests in blocks of units in random order, with every pair of arms compared."""
