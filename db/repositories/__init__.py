"""Repositories, one per family of tables, which return the records of ``themescope.db.records``."""
