"""Who gets into a live test, and which values its arms have."""
