"""Estimates page."""
