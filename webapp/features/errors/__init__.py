"""The Errors page."""
