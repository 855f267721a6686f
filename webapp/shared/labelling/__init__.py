"""Labellings on several pages: tasks, codebook entries, collecting of failures, and names by a language model."""
