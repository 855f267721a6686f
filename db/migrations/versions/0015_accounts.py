"""Password hashes, sessions, failed sign-ins and the audit log in the database.

The hashes of the password file of version 0.1 are copied; ``themescope.db.migrate`` deletes the file once this is
committed. Sessions of version 0.1 end.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import context, op

from themescope.db.password_file import read_password_file

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables and copy the hashes; people of the file without a role become labellers."""
    op.drop_table("sign_in")
    login = op.create_table(
        "login",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("changed", TIME, nullable=False),
        sa.PrimaryKeyConstraint("person", name="pk_login"),
    )
    op.create_table(
        "session",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("seen", TIME, nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name="pk_session"),
    )
    op.create_index("ix_session_person", "session", ["person"])
    op.create_table(
        "failed_sign_in",
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("last", TIME, nullable=False),
        sa.PrimaryKeyConstraint("key_hash", name="pk_failed_sign_in"),
    )
    op.create_table(
        "audit_event",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_event"),
        sqlite_autoincrement=True,
    )
    _copy(login, read_password_file(context.config.attributes["home"]))


def _copy(login: sa.Table, hashes: dict[str, str]) -> None:
    if not hashes:
        return
    connection, time = op.get_bind(), datetime.now(UTC)
    person = sa.table("person", sa.column("name"), sa.column("role"), sa.column("created", TIME))
    known = {*connection.scalars(sa.select(person.c.name))}
    for name, hashed in hashes.items():
        connection.execute(login.insert().values(person=name, password=hashed, changed=time))
        if name not in known:
            connection.execute(person.insert().values(name=name, role="labeller", created=time))


def downgrade() -> None:
    """Remove the tables; accounts, which version 0.1 has in a file, have to be added again."""
    for name in ("audit_event", "failed_sign_in", "session", "login"):
        op.drop_table(name)
    op.create_table(
        "sign_in",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("seen", TIME, nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_sign_in"),
    )
    op.create_index("ix_sign_in_person", "sign_in", ["person"])
