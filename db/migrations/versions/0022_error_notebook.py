"""Error notebooks: samples, cases, notes, categories, and the categories that people gave to cases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create("error_sample", [_to("corpus")], _texts("name", "model"), _number("population"), _number("seed"))
    _create(
        "error_case",
        [_to("corpus"), _to("error_sample", "sample_id", nullable=True, ondelete="SET NULL")],
        _texts("kind", "digest", "sentence_ids", "facts", "permalink"),
        sa.Column("deleted", sa.DateTime(timezone=True)),
        sa.UniqueConstraint("corpus_id", "digest", name="uq_error_case_corpus_id"),
    )
    _create("error_note", [_to("error_case", "case_id"), _to("error_note", "note", nullable=True)], _texts("text"))
    _create(
        "error_category",
        [_to("corpus"), _to("error_category", "merged_into", nullable=True, ondelete="SET NULL")],
        _texts("name", "description"),
        sa.Column("colour", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("deleted", sa.DateTime(timezone=True)),
    )
    _create(
        "error_coding",
        [
            _to("error_case", "case_id"),
            _to("error_category", "category_id", nullable=True),
            _to("error_coding", "undoes", nullable=True),
        ],
        sa.Column("given", sa.Boolean(), nullable=False),
    )


def downgrade() -> None:
    """Remove the tables."""
    for table in ("error_coding", "error_category", "error_note", "error_case", "error_sample"):
        op.drop_table(table)


_Reference = tuple[str, str, bool, str]


def _to(table: str, name: str = "", nullable: bool = False, ondelete: str = "CASCADE") -> _Reference:
    return table, name or f"{table}_id", nullable, ondelete


def _texts(*names: str) -> list[sa.schema.SchemaItem]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _number(name: str) -> sa.schema.SchemaItem:
    return sa.Column(name, BIG, nullable=False)


def _create(name: str, references: list[_Reference], *parts: sa.schema.SchemaItem | list[sa.schema.SchemaItem]) -> None:
    """Create a table with an id, references with their indexes, a person and a time."""
    listed = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    op.create_table(
        name,
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        *(sa.Column(column, BIG, nullable=nullable) for _, column, nullable, _ in references),
        *listed,
        *_texts("person"),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=f"pk_{name}"),
        *(
            sa.ForeignKeyConstraint([column], [f"{table}.id"], name=f"fk_{name}_{column}", ondelete=ondelete)
            for table, column, _, ondelete in references
        ),
        sqlite_autoincrement=True,
    )
    for _, column, _, _ in references:
        op.create_index(f"ix_{name}_{column}", name, [column])
