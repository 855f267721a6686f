"""Two-dimensional projections of sentence vectors and the geometry of maps."""
