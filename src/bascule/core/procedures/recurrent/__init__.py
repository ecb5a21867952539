"""Tests whose units give outcomes again and again."""
