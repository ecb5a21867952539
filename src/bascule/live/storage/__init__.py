"""The database: connections, tables, queries and stored state."""
