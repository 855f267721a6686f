"""The store: tables, migrations, repositories, artifact files, settings."""
