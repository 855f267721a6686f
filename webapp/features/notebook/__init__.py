"""The Error notebook page."""
