"""The Triplets page."""
