"""Kinds of evidence about two arms: the statistics that each keeps, and the results it gives."""
