"""Group commit: requests wait in a queue, and one transaction writes many of them."""
