"""Databases that a store can be in: SQLite and PostgreSQL."""
