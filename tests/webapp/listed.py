"""What a simulated page sends to the browser for its list of sentences."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

LIST = "themescope_units"


def listing(at: AppTest) -> dict[str, Any]:
    """Return the data of the last list of sentences on the page; {} without one."""
    found = [element.proto for element in at.get("bidi_component") if element.proto.component_name == LIST]
    return json.loads(getattr(found[-1], found[-1].WhichOneof("data"))) if found else {}


def listed(at: AppTest) -> list[dict[str, Any]]:
    """Return the sentences of the groups that were sent: id, text, sub, tag and note."""
    return [row for rows in listing(at).get("groups", {}).values() for row in rows]
