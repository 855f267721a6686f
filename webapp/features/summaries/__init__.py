"""The Summaries page."""
