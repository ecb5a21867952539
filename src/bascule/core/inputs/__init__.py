"""Input from people and files: check, read and write it."""
