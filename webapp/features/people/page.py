"""People: who works here, what they may do, when they were seen."""

from db.roles import Right
from webapp.features.people import roster
from webapp.shared.choose import nothing, title
from webapp.shared.people import may

title("People", "Who works here and what they may do. What somebody did stays under their name.")
if may(Right.MANAGE):
    roster.show()
else:
    nothing("Only an admin sees this page.", "Ask one, if you need to know who may do what.")
