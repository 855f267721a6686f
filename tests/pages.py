"""Names of all pages, for tests that visit each of them, and the time that those take at most."""

from pathlib import Path

FEATURES = Path(__file__).parents[1] / "webapp" / "features"
PAGES = sorted(path.parent.name for path in FEATURES.glob("*/page.py"))
PATIENCE_S = 600.0
"""How long a script may run, on a machine where twenty processes want each core; only one that hangs takes it."""
assert "home" in PAGES, f"The pages are no longer in {FEATURES}."
