"""Alembic environment, which runs the revisions on the connection that ``themescope.db.engine`` provides."""

from alembic import context

from themescope.db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
