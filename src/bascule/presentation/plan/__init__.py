"""Plans as text, figures and HTML pages."""
