"""Codebook page: definitions, rules and examples of the clusters of a labelling, versions and files."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Codebook page

CODES, VERSIONS, FILES = "Codes", "Versions", "Files"
"""Tabs."""

KEYS = PageKeys("codebook")
VIEW = KEYS.url("view")
LABELLING = KEYS.url("labelling", record="labelling")
SEARCH = KEYS.url("search")
EDIT = "codebook_edit"
