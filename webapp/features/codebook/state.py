"""URL keys of the Codebook page."""

from themescope.webapp.shared.pages import PageKeys

CODES, VERSIONS, FILES = "Codes", "Versions", "Files"
"""Tabs."""

KEYS = PageKeys("codebook")
VIEW = KEYS.url("view")
LABELLING = KEYS.url("labelling", record="labelling")
SEARCH = KEYS.url("search")
EDIT = "codebook_edit"
