"""Evidence that one arm is better than another: numbers that are rarely large if it is not.

All functions are pure functions of plain numbers. docs/research/evidence.md has the proofs.
"""
