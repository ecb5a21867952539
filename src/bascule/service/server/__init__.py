"""The ASGI application, its worker processes and its error responses."""
