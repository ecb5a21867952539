"""The form for a new test, and the plans that it shows."""
