"""Import page: files of any kind become a project, or add to one."""

from themescope.webapp.features.texts import import_form
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.frame import header

header.open_imported()
if not closed("Importing"):
    import_form.form()
header.watch()
