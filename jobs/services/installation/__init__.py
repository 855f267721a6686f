"""State of an installation: checks, health, backups, and the data that it starts with."""
