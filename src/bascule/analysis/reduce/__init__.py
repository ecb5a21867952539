"""The reduction of a log to sums per arm and day, done in the database."""
