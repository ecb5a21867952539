"""The service: an HTTP API, OFREP for OpenFeature clients, API keys, and web pages (FastAPI)."""
