"""The page People: users and their roles."""

from db.access import Right
from webapp.features.people import members
from webapp.shared.choose import nothing, title
from webapp.shared.people import may

title("People", "Users and their roles. Past work keeps its author.")
if may(Right.MANAGE):
    members.show()
else:
    nothing("Only admins can open this page.", "Ask an admin about roles.")
