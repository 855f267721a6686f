"""The Corpora page."""
