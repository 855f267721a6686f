"""Error notebooks become corpora of failures, see :mod:`themescope.db.repositories.failures`.

Their rows are moved after all revisions, because that takes repositories, which need the newest tables.
"""

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Change no table."""
