"""Where a log comes from, and which of its columns are used."""
