"""Attempts at training items become steps of the history of their labelling, which name every answer."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"

_STEP = sa.text(
    "INSERT INTO label_step (labelling_id, kind, operation, summary, person, created, reason, selection_method, size, "
    "coder) SELECT labelling_id, 'do', 'practice', :summary, person, created, :reason, '', 0, '' FROM practice "
    "WHERE id = :id"
)


def upgrade() -> None:
    """Move the attempts, the oldest first, and drop their table."""
    connection = op.get_bind()
    clusters = connection.execute(sa.text("SELECT labelling_id, number, name FROM label_cluster")).all()
    names = {(row.labelling_id, row.number): row.name for row in clusters}
    found = connection.execute(sa.text("SELECT id, labelling_id, items, correct, answers FROM practice ORDER BY id"))
    for row in found.all():
        answers = json.loads(row.answers) if isinstance(row.answers, str) else row.answers
        said = []
        for sentence, chosen, right in answers:
            given, wanted = (names.get((row.labelling_id, number), "a deleted cluster") for number in (chosen, right))
            said.append(f"sentence {sentence}: {given}" + (", right" if chosen == right else f", not {wanted}"))
        summary = f"practice: {row.correct} of {row.items} right"
        connection.execute(_STEP, {"id": row.id, "summary": summary, "reason": "; ".join(said)})
    op.drop_table("practice")
