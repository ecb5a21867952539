"""Frontiers and audits: rules compared with each other, and designs with what they promise."""

from bascule.core.presenter import register_presenters

register_presenters(__name__, "audit_text", "frontier_report")
