"""Procedures, one for each family of rules: how units are assigned, counted and compared."""
