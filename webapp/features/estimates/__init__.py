"""Estimates page."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("estimates")
LABELLINGS = KEYS.url("labellings", kind=list, record="labelling")
CODE = KEYS.url("code")
BY = KEYS.url("by")
SHOW = KEYS.url("show")
EVERY, ALL = "All codes", "All units"
SHARES, PARTS, DIFFERENCE = "Shares", "Parts of the code", "Difference"
MORE = "estimates_more"
"""Session key of the folded part."""
