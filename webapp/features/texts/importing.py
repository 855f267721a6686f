"""Import page: files of any kind become a project, or add to one."""

from themescope.db.access import Right
from themescope.webapp.features.texts import import_form
from themescope.webapp.shared import header
from themescope.webapp.shared.choose import closed

if not closed("Importing", Right.LABEL) and not import_form.form():
    header.open_imported()
header.watch()
