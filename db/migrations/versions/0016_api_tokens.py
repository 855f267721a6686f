"""Tokens with which programs use the HTTP API as a person."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "api_token",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("used", TIME),
        sa.Column("expires", TIME, nullable=False),
        sa.Column("revoked", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
        sa.UniqueConstraint("token_hash", name="uq_api_token_token_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_api_token_person", "api_token", ["person"])


def downgrade() -> None:
    """Remove the table; programs need new tokens after an upgrade."""
    op.drop_table("api_token")
