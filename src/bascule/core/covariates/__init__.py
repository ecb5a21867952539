"""Covariates: what is known of a unit before its assignment, and adjustment by it."""
