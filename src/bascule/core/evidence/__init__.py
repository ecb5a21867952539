"""Evidence that one arm is better than another: numbers that are large only rarely by chance.

Every function is a pure one of plain numbers. docs/research/evidence.md has the proofs.
"""
