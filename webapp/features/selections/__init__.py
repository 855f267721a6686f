"""The Selections page."""
