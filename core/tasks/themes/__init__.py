"""Themes in any list of sentences: how many, which sentence belongs where, what they are called."""
