"""The Train page."""
