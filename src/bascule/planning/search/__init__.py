"""The search for a plan: candidates, the choice among them, and its stages."""
