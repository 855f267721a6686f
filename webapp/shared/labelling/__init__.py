"""Labellings on several pages: tasks, codebook entries, error notebook, and names by a language model."""
