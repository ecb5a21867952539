"""Evidence from the sums of a log, and the course of the test by it."""
