"""Selections of sentences: the session's own, stored ones, their panel, and what can be done with them."""
