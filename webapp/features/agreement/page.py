"""Agreement page: agreement between labellings, and of each with sections and clusterings."""

import streamlit as st

from themescope.db.label_records import HIDDEN
from themescope.webapp.features.agreement import SCOPE, results
from themescope.webapp.features.agreement.results import TextScope
from themescope.webapp.shared.choose import by_name, nothing, project, steps, study_steps
from themescope.webapp.shared.labelling import codebook_view
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import plain


def results_of(scope: TextScope) -> None:
    """Draw the choice of labellings and the results; nothing while the person labels the text blind."""
    found = results.labellings(scope)
    names = [record.name for record in scope.labellings]
    default, key = [name for name in names if name not in found.left_out], f"agreement_labellings_{scope.name}"
    held = st.session_state.get(key)
    if held is None or held == st.session_state.get(f"{key}_default"):  # the person has not changed it
        held = default
    st.session_state[key], st.session_state[f"{key}_default"] = [name for name in held if name in names], default
    chosen = st.multiselect("Labellings", names, help="The labellings to compare.", key=key)
    own = [r for r in scope.labellings if r.blind and r.owner == current_person() and codebook_view.is_open(r)]
    if own and not st.toggle("My blind labelling is finished; show the others", key=f"agreement_reveal_{scope.name}"):
        st.info("You label this text blind. The other labellings are hidden until yours is finished.")
        return
    if not chosen:
        nothing("No labelling selected.", "Select at least one above.")
    if left := [f"**{plain(name)}** ({plain(why)})" for name, why in found.left_out.items() if name not in chosen]:
        st.caption(f"Left out: {' · '.join(left)}. Choose them above to count them.")
    if chosen:
        results.show(scope, results.group(scope, found, chosen))


current = project()
scopes = results.scopes(current.id) if current is not None else []
if current is None:
    pass
elif not scopes:
    steps(study_steps())
else:
    scope = by_name("Labelled text", scopes, SCOPE, lambda found: found.name)
    if scope.hidden:
        st.info(HIDDEN)
    else:
        results_of(scope)
