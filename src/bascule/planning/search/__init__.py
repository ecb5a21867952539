"""The search of a plan: candidates, their choice, and its stages."""
