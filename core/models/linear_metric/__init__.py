"""A metric learned from pairs, on the vectors of another model: ``linear-metric``."""
