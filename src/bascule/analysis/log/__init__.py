"""A log as a table: find its columns and clean its rows."""
