"""The page Report and files."""

from themescope.webapp.shared.pages import PageKeys

KEYS = PageKeys("report")
CODING = KEYS.url("coding", record="labelling")
