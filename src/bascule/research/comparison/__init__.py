"""Frontiers and audits: rules compared with each other, and designs with what they promise."""
