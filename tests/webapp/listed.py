"""What a simulated page sends to the browser for its list of units."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

LISTS = {"themescope_units", "themescope_panes"}


def listing(at: AppTest) -> dict[str, Any]:
    """Return the data of the last list of units on the page; {} without one. Sort and Table have it as "list"."""
    found = [element.proto for element in at.get("bidi_component") if element.proto.component_name in LISTS]
    return json.loads(getattr(found[-1], found[-1].WhichOneof("data"))) if found else {}


def listed(at: AppTest) -> list[dict[str, Any]]:
    """Return the units of the groups that were sent: id, text, sub, tag and note."""
    found = listing(at)
    of = found["list"] if "clusters" in found else found
    return [of["rows"][str(id)] for ids in of.get("groups", {}).values() for id in ids]
