"""Commands for operators of the service: serve, keys, backups, a demonstration, assistants."""
