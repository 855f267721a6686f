"""Repositories, one per family of tables, which return records."""
