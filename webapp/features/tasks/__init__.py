"""The Tasks page."""

from themescope.webapp.shared.pages import PageKeys

# URL keys of the Tasks page

MINE, ALL, NEW = "My tasks", "All tasks", "New task"
"""Tabs."""

KEYS = PageKeys("tasks")
VIEW = KEYS.url("view")
TASK = KEYS.url("task", record="task")
MESSAGE = "tasks_message"
