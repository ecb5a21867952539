"""Messages about a test to people and programs elsewhere."""
