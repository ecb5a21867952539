"""Frontiers, which compare rules, and audits, which compare a design with its guarantee."""

from bascule.core.presenter import register_presenters

register_presenters(__name__, "audit_text", "frontier_report")
