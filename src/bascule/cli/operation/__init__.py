"""Commands for whoever runs the service: serve, keys, backups, a demonstration, assistants."""
