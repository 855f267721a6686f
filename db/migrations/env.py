"""Alembic's entry: runs the revisions over the connection that ``db.migrate`` hands in."""

from alembic import context

from db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
