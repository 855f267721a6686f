"""The Themes page."""
