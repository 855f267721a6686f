"""One repository a family of tables; each returns the plain records of ``db.records``."""
