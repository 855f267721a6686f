"""Counts page."""
