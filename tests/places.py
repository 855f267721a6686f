"""Places in this checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "db", "jobs", "webapp")
