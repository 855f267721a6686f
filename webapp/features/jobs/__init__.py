"""The Jobs page."""
