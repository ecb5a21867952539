"""Analyses as text, figures and HTML reports."""
