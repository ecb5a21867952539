"""Schemas of requests and responses, and the OpenAPI description made of them."""
