"""What an import left out or changed, with the places and texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table; of earlier imports only the counts are known."""
    op.create_table(
        "import_entry",
        sa.Column("corpus_id", BIG, nullable=False),
        sa.Column("number", BIG, nullable=False),
        sa.Column("change", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("corpus_id", "number", name="pk_import_entry"),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpus.id"], name="fk_import_entry_corpus_id", ondelete="CASCADE"),
    )
