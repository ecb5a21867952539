"""A log as a table: which columns are meant, and what their rows say."""
