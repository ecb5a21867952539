"""The database: connections, tables, queries, stored state and migrations."""
