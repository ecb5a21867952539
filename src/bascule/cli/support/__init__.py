"""Helpers shared by several commands: options, formats of numbers, and printing."""
