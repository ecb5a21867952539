"""What a planner is asked: read, checked and completed."""
