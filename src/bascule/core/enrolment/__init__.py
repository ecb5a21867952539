"""Who gets into a live test, and what the arms of a test are worth to a program."""
