"""Sentence vectors learned from content and context: the engine of SJH17 (algorithms F) and its relatives."""
