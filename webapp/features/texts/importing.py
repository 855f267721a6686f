"""Import page: texts as a new project or a wave, and bundles."""

import streamlit as st

from themescope.webapp.features.texts import edits, import_form
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.frame import header

header.open_imported()
header.watch()
if not closed("Importing"):
    st.caption(
        "The format is detected from the content. A preview shows the first articles before anything is stored. "
        "Invalid files change nothing."
    )
    import_form.form()
    edits.import_form()
