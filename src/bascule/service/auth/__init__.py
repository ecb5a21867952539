"""API keys, sessions, access rules and rate limits."""
