"""Themes of lists of sentences: number of clusters, assignment and names."""
