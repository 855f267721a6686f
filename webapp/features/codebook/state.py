"""URL keys of the Codebook page."""

from themescope.webapp.shared.pages import PageKeys

CODES, VERSIONS, PRACTICE, FILES = "Codes", "Versions", "Practice", "Files"
"""Tabs."""

KEYS = PageKeys("codebook")
VIEW = KEYS.url("view")
LABELLING = KEYS.url("labelling", record="labelling")
SEARCH = KEYS.url("search")
EDIT = "codebook_edit"
ATTEMPT = "codebook_attempt"
