"""Evidence from the sums of a log, and the daily course of a test."""
