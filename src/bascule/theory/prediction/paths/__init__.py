"""Average paths of a test: the units of each arm if noise averages out."""
