"""The service: an HTTP API, OFREP for OpenFeature clients, keys, and a page; it needs FastAPI."""
