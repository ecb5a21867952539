"""Enrolment: which units get into a live test, and the values of its arms."""
