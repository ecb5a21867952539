"""Everything that people look at: numbers, text, figures and HTML pages of every result."""
