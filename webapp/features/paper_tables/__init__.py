"""The Paper tables page."""
