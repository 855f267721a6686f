"""Names of all pages, for tests that visit each of them."""

from pathlib import Path

FEATURES = Path(__file__).parents[1] / "webapp" / "features"
PAGES = sorted(path.parent.name for path in FEATURES.glob("*/page.py"))
assert "home" in PAGES, f"The pages are no longer in {FEATURES}."
