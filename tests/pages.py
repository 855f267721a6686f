"""Names of all pages, for tests that visit each of them, and the time that those take at most."""

from themescope.webapp.features import REGISTRY

PAGES = sorted(card.id for card in REGISTRY)
PATIENCE_S = 600.0
"""How long a script may run, on a machine where twenty processes want each core; only one that hangs takes it."""
