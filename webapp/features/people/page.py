"""People page: list of users, with forms that add and remove them and change their roles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from themescope.core.records.stored import Role
from themescope.db.access import Right
from themescope.jobs.services import people as members
from themescope.webapp.features import people
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import clickable, nothing
from themescope.webapp.shared.components import attempt, confirm, draw_table, succeeds
from themescope.webapp.shared.people import UNNAMED, current_person, may, sign_in_required
from themescope.webapp.shared.text import ago, count, plain

_MAY = {
    Role.VIEWER: "Viewer: read only",
    Role.LABELLER: "Coder: code and review",
    Role.ADMIN: "Admin: full access, including roles",
}


def show() -> None:
    """Draw the list of users and the form for the selected one."""
    found = members.members(queries.store())
    admins = [member.person.name for member in found if member.person.role is Role.ADMIN]
    if not admins:
        st.info(
            "No admin yet: everyone except viewers has full access. Once there is an admin, coders can only code "
            "and review.",
            icon=":material/lock_open:",
        )
    elif not sign_in_required():
        st.caption("These pages are reachable from this machine only, so no sign-in is required.")
    if not found:
        nothing("No users yet.", "Everyone who labels or reviews is listed here.")
    else:
        left, right = st.columns([3, 2], gap="large")
        with left:
            columns = {
                "Name": [member.person.name or UNNAMED for member in found],
                "Role": [_MAY[member.person.role].partition(":")[0] for member in found],
                "Last seen": [ago(member.person.seen) for member in found],
                "Sign-in": [member.login.value if member.login else "–" for member in found],
                "Added": [member.person.created.date() for member in found],
            }
            st.caption(count(len(found), "person", "people"))
            chosen = clickable(found, people.MEMBER, lambda member: member.person.name or UNNAMED, columns)
        with right:
            _change(chosen)
    _add()
    log = st.expander("Audit log", icon=":material/history:", key="people_log", on_change="rerun")
    if log.open:
        with log:
            events = queries.read(lambda r: r.audit_log.latest(100))
            columns = {
                "Time (UTC)": [f"{event.created:%Y-%m-%d %H:%M:%S}" for event in events],
                "By": [event.author or "–" for event in events],
                "Action": [event.action for event in events],
                "Account": [event.person or "–" for event in events],
                "Detail": [event.detail for event in events],
            }
            st.caption("The latest 100 changes of accounts and sign-ins. For more: `themescope people list --log 500`.")
            draw_table(columns, alt="Changes of accounts and sign-ins, newest first")


def _change(member: members.Member) -> None:
    name = member.person.name
    st.subheader(plain(name or UNNAMED), anchor=False)
    own = list(Role).index(member.person.role)
    role = st.selectbox("Role", list(Role), own, format_func=_MAY.__getitem__, key=f"people_role_{name}")
    with st.container(horizontal=True):
        if st.button("Save", type="primary", icon=":material/save:", disabled=role is member.person.role):
            _try(lambda: members.set_role(queries.store(), name, role or member.person.role, current_person()))
        if st.button("Remove …", icon=":material/person_remove:", type="tertiary"):
            about = "can no longer sign in and loses the role. Labels, reviews and history are kept."
            remove = partial(succeeds, lambda: members.remove(queries.store(), name, current_person()))
            about = f"**{plain(name or UNNAMED)}** {about}"
            confirm("Remove user?", about, "Remove", remove, ":material/person_remove:")


def _add() -> None:
    with st.popover("Add user", icon=":material/person_add:"), st.form("add-person", border=False):
        name = st.text_input("Name", max_chars=members.LONGEST_NAME)
        role = st.selectbox("Role", list(Role), index=1, format_func=_MAY.__getitem__)
        required = "Required only where others can reach the pages."
        password = st.text_input("Initial password", type="password", help=required)
        st.caption("To add a user who signs in through an organisation: `themescope people add E-MAIL --oidc`")
        if st.form_submit_button("Add", icon=":material/person_add:"):
            new = name or "", role or Role.LABELLER, password or "", current_person()
            _try(lambda: members.add(queries.store(), *new))


def _try(change: Callable[[], object]) -> None:
    if attempt(lambda: (change(),)) is not None:
        st.rerun()


if may(Right.MANAGE):
    show()
else:
    nothing("Only admins can open this page.", "Ask an admin about roles.")
