"""Codebook page: definitions, rules and examples of the codes of a coding, versions and files."""

from themescope.webapp.shared.pages import PageKeys

CODES, VERSIONS, FILES, GOLD = "Codes", "Versions", "Files", "Gold units"
"""The codes, and what the menu opens in their place."""

KEYS = PageKeys("codebook")
VIEW = KEYS.url("view")
LABELLING = KEYS.url("labelling", record="labelling")
SEARCH = KEYS.url("search")
EDIT = "codebook_edit"
