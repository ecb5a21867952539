"""Requests for a plan: reading, checking and completing them."""
