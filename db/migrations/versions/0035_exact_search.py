"""Search by meaning compares all vectors: the indexes of large corpora go."""

from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Drop the table; the files are removed as unused."""
    op.drop_table("vector_index", if_exists=True)
