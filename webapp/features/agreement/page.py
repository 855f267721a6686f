"""Agreement page: agreement between labellings, and of each with sections and clusterings."""

import streamlit as st

from webapp.features.agreement import groups, results
from webapp.features.agreement.state import LABELLINGS, REVEAL, SCOPE
from webapp.shared import projects
from webapp.shared.choose import by_name, nothing
from webapp.shared.people import current_person

scopes = groups.scopes(projects.current_id())
if not scopes:
    nothing(
        "No labellings yet.",
        "Create a labelling on the Relabel page. Agreement compares two or more labellings of the same text.",
        "relabel",
        "Open Relabel",
    )
else:
    scope = by_name("Labelled text", scopes, SCOPE, lambda found: found.name)
    records = {record.name: record for record in scope.labellings}
    chosen = st.multiselect(
        "Labellings", list(records), default=list(records), help="The labellings to compare.",
        key=f"{LABELLINGS}_{scope.name}",
    )  # fmt: skip
    own = [r for r in scope.labellings if r.blind and r.owner == current_person()]
    if own and not st.toggle("My blind labelling is finished; show the others", key=f"{REVEAL}_{scope.name}"):
        st.info("You label this text blind. The other labellings are hidden until yours is finished.")
    elif not chosen:
        nothing("No labelling selected.", "Select at least one above.")
    else:
        results.show(scope, groups.group(scope, [records[name] for name in chosen]))
