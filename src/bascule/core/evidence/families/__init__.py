"""Families of evidence: what blocks have shown of two arms, and what follows from it."""
