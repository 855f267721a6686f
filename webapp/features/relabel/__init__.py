"""The Relabel page."""
