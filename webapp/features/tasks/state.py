"""Session and URL keys of the Tasks page."""

from themescope.webapp.shared.pages import PageKeys

MINE, ALL, NEW = "My tasks", "All tasks", "New task"
"""Tabs."""

KEYS = PageKeys("tasks")
VIEW = KEYS.url("view")
TASK = KEYS.url("task")
FORM = KEYS.session("form")
"""Prefix of the fields of a new task."""
ITEM, REASSIGN, ROUTE = KEYS.session("item"), KEYS.session("reassign"), KEYS.session("route")
MESSAGE, REFUSED = KEYS.session("message"), KEYS.session("refused")
OPEN_NEXT = KEYS.session("open_next")
"""Name of the task to show in the next run."""
