"""Session and URL keys of the Corpora page."""

from themescope.webapp.shared.pages import PageKeys

READ, LISTING, IMPORT_VIEW = "Read", "All projects", "Import"
"""Tabs."""

KEYS = PageKeys("corpora")
VIEW = KEYS.url("view")
SEARCH = KEYS.url("search")
ARTICLE = KEYS.url("article")
SENTENCE = KEYS.url("sentence")
"""Id of the sentence that the reader scrolls to."""
DETAILS = KEYS.url("details", record="project")

CLUSTER = KEYS.session("cluster")
SHOW_CLUSTERS = KEYS.session("show_clusters")
FIND_IN_TEXT = KEYS.session("find_in_text")
ARTICLES = KEYS.session("articles")
READER = KEYS.session("reader")
IMPORT = KEYS.session("import")
"""Prefix of the fields of the import form."""
IMPORT_ROUND = KEYS.session("import_round")
"""Number of imports that were queued in this session; each empties the form."""
ONLY_IMPORT = KEYS.session("only_import")
UPLOADED = KEYS.session("uploaded")
BUNDLE = KEYS.session("bundle")
"""Prefix of the fields of the bundle forms."""
BUNDLE_ROUND = KEYS.session("bundle_round")
BUNDLE_KEPT = KEYS.session("bundle_kept")
DATASET = KEYS.session("dataset")
"""Prefix of the fields of the dataset form."""
SELECTABLE, SELECTED_SECTION = KEYS.session("selectable"), KEYS.session("selected_section")
