"""Import page: files of any kind become a project, or add to one."""

from themescope.db.access import Right
from themescope.webapp.features.texts import import_form
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.frame import header

if not closed("Importing", Right.LABEL) and not import_form.form():
    header.open_imported()
header.watch()
