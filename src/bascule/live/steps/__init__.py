"""Pure functions of a live test: assignment, maturity, folding and stages."""
