"""Agreement: how far labels may be trusted."""

import streamlit as st

from webapp.features.agreement import queries, results
from webapp.shared.choose import by_name, nothing, title
from webapp.shared.people import current_person

title("Agreement", "How far people agree with each other, with the sections, and with each model.")
scopes = queries.scopes()
if not scopes:
    nothing(
        "Nobody has labelled anything yet.",
        "Begin a labelling; a second one of the same text can be compared.",
        "relabel",
        "Relabel",
    )
else:
    scope = by_name("Labels of", scopes, "scope", lambda found: found.name)
    records = {record.name: record for record in scope.labellings}
    chosen = st.multiselect("Labellings", list(records), default=list(records), help="Those that are compared.")
    own = [r for r in scope.labellings if r.blind and r.owner == current_person()]
    if own and not st.toggle("I have finished my blind labelling; show me what others did", key=f"seen-{scope.name}"):
        st.info("You label these sentences blind. What others did is hidden until you have finished.")
    elif not chosen:
        nothing("No labelling chosen.", "Choose one or more above.")
    else:
        results.show(scope, queries.group(scope, [records[name] for name in chosen]))
