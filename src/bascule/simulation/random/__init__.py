"""Random streams, one for each run, and draws from them."""
