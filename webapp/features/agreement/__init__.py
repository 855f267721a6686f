"""The Agreement page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("agreement")
SCOPE = KEYS.url("scope", record="labelled text")
COUNTED = KEYS.url("counted")
RELIABILITY, PAIRS, MACHINE = "agreement_reliability", "agreement_pairs", "agreement_machine_test"
"""Session keys of the folded parts, which are computed when they are open."""
