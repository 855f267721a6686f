"""Requests to a language model: names of themes, and codes of sentences."""
