"""Labellings that exist and that a person may see."""

from __future__ import annotations

from themescope.core.errors import UnknownNameError
from themescope.db.access import Actor
from themescope.db.label_records import LabellingRecord
from themescope.db.store import Unit


def known_labelling(r: Unit, labelling_id: int) -> LabellingRecord:
    """Return a labelling that was not deleted; raise ``UnknownNameError`` if there is none."""
    record = r.labellings.get(labelling_id)
    if record.deleted is not None:
        raise UnknownNameError("labelling", str(labelling_id), [str(known.id) for known in r.labellings.list()])
    return record


def visible_labelling(r: Unit, actor: Actor, labelling_id: int) -> LabellingRecord:
    """Return :func:`known_labelling`; raise ``AccessError`` while the person labels its articles blind."""
    record = known_labelling(r, labelling_id)
    r.labellings.check_visible(labelling_id, actor.name)
    return record
