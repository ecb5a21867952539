"""The store and its experiments: what users and the service import."""
