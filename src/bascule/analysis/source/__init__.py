"""Sources of a log: files, data frames and databases."""
