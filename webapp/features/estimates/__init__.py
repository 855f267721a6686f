"""Estimates page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Estimates page

KEYS = PageKeys("estimates")
LABELLINGS = KEYS.url("labellings", kind=list, record="labelling")
CODE = KEYS.url("code")
BY = KEYS.url("by")
SHOW = KEYS.url("show")
EVERY, ALL = "All codes", "All sentences"
SHARES, PARTS, DIFFERENCE = "Shares", "Parts of the code", "Difference"
