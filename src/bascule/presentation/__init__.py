"""Everything that people look at: numbers, text, figures and HTML pages of every result."""

from bascule.core.presenter import register_presenters

register_presenters(
    __name__,
    "analysis.figure",
    "analysis.headline",
    "analysis.report",
    "figures",
    "guarantees",
    "pages",
    "plan.figure",
    "plan.question",
    "plan.rollout",
    "plan.text",
    "progress",
    "report",
    "simulation",
    "status",
)
