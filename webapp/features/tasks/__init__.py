"""URL keys of the Tasks page."""

from themescope.webapp.shared.pages import PageKeys

NEW = "New task"
"""View of the form."""

KEYS = PageKeys("tasks")
VIEW = KEYS.url("view")
TASK = KEYS.url("task", record="task")
MESSAGE = "tasks_message"
