"""Evidence that one arm is better than another: a number that is rarely large if that is false.

All functions are pure functions of plain numbers. docs/research/evidence.md has the proofs.
"""
