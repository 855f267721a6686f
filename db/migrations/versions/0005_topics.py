"""Topics of documents, the part their source puts them in, and runs about a whole corpus."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns; documents of before have no topic, runs of before no corpus."""
    for name in ("topic", "part"):
        op.add_column("article", sa.Column(name, sa.Text(), nullable=False, server_default=sa.text("''")))
    # SQLite takes a new foreign key only with a new table, which the batch makes and fills.
    with op.batch_alter_table("run", table_kwargs={"sqlite_autoincrement": True}) as batch:
        batch.add_column(sa.Column("corpus_id", BIG, nullable=True))
        batch.create_foreign_key("fk_run_corpus_id", "corpus", ["corpus_id"], ["id"], ondelete="CASCADE")
        batch.create_index("ix_run_corpus_id", ["corpus_id"])
