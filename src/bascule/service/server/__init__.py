"""The ASGI application, its processes and its connections."""
