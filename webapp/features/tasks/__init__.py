"""The Tasks page."""
