"""Backups of a whole store: writing, restoring, and writing them regularly."""
