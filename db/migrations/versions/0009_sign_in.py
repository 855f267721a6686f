"""When people were seen last, and the sessions of those who signed in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the time to people, and the table of sessions."""
    with op.batch_alter_table("person") as batch:
        batch.add_column(sa.Column("seen", sa.DateTime(timezone=True)))
    op.create_table(
        "sign_in",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_sign_in"),
    )
    op.create_index("ix_sign_in_person", "sign_in", ["person"])
