"""Tables of the store. Migrations create them; a test compares the two.

References have a foreign key with ON DELETE and an index, with one exception: references to single sentences or
sections (in triplets, and in the id blocks of benchmarks and maps). Sentences and sections are deleted only with their
corpus, which also deletes those rows; a constraint would cost an index on millions of rows.
"""

from __future__ import annotations

import sqlalchemy as sa

from themescope.db.types import Big, Json, Number, Text, UtcDateTime

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> sa.Column[int]:
    return sa.Column("id", Big, primary_key=True, autoincrement=True)


def _to(table: str, name: str = "", *, nullable: bool = False, ondelete: str = "CASCADE") -> sa.Column[int]:
    key = sa.ForeignKey(f"{table}.id", ondelete=ondelete)
    return sa.Column(name or f"{table}_id", Big, key, nullable=nullable, index=True)


def _table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """Return a table whose ids are never reused, even after the newest row is deleted."""
    return sa.Table(name, metadata, _id(), *parts, sqlite_autoincrement=True)


def _required(name: str, kind: sa.types.TypeEngine | type[sa.types.TypeEngine]) -> sa.Column:
    return sa.Column(name, kind, nullable=False)


def _revision() -> sa.Column[int]:
    """Return the column with the revision of the code that made a row; rows without a recorded one have 1."""
    return sa.Column("revision", sa.Integer, nullable=False, server_default=sa.text("1"))


_EMPTY = sa.text("''")

# --- text -----------------------------------------------------------------------------------------------------------

corpus = _table(
    "corpus",
    sa.Column("name", Text, nullable=False, unique=True),
    _required("language", Text),
    _required("ready", sa.Boolean),
    _required("created", UtcDateTime),
    _required("articles", Big),
    _required("sections", Big),
    _required("paragraphs", Big),
    _required("sentences", Big),
    _required("report", Json),
)

article = _table(
    "article",
    sa.Column("corpus_id", Big, sa.ForeignKey("corpus.id", ondelete="CASCADE"), nullable=False),
    _required("position", sa.Integer),
    _required("title", Text),
    _required("url", Text),
    _required("source", Text),
    _required("bucket", sa.Integer),
    _required("sections", sa.Integer),
    _required("sentences", sa.Integer),
    sa.Column("topic", Text, nullable=False, server_default=_EMPTY),
    sa.Column("part", Text, nullable=False, server_default=_EMPTY),
    sa.UniqueConstraint("corpus_id", "position"),
)

section = _table(
    "section",
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), nullable=False),
    _required("position", sa.Integer),
    _required("level", sa.Integer),
    _required("title", Text),
    _required("path", Json),
    sa.UniqueConstraint("article_id", "position"),
)

sentence = _table(
    "sentence",
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), nullable=False),
    _required("position", sa.Integer),
    _required("section", sa.Integer),
    _required("paragraph", sa.Integer),
    _required("opens_paragraph", sa.Boolean),
    _required("text", Text),
    sa.UniqueConstraint("article_id", "position"),
)

# A further field of the articles or sentences of a corpus. "about" has the categories, or the least and greatest value.
corpus_column = _table(
    "corpus_column",
    sa.Column("corpus_id", Big, sa.ForeignKey("corpus.id", ondelete="CASCADE"), nullable=False),
    _required("position", sa.Integer),
    _required("name", Text),
    _required("level", Text),
    _required("type", Text),
    _required("about", Json),
    sa.UniqueConstraint("corpus_id", "level", "name", name="uq_corpus_column_corpus_id"),
)

# Values of articles or sentences with consecutive ids from "first" on, or with the ascending ones in "ids".
column_block = sa.Table(
    "column_block",
    metadata,
    sa.Column("column_id", Big, sa.ForeignKey("corpus_column.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("first", Big, primary_key=True, autoincrement=False),
    _required("rows", sa.Integer),
    _required("ids", sa.LargeBinary),
    _required("data", sa.LargeBinary),
)

# --- background work ------------------------------------------------------------------------------------------------

job = _table(
    "job",
    _required("kind", Text),
    _required("title", Text),
    _required("args", Json),
    sa.Column("status", Text, nullable=False, index=True),
    _required("queue", Text),
    _required("progress", sa.Double),
    _required("message", Text),
    _required("attempt", sa.Integer),
    _required("owner", Text),
    _to("job", "after", nullable=True, ondelete="SET NULL"),
    _required("cancel", sa.Boolean),
    _required("created", UtcDateTime),
    _required("queued", UtcDateTime),
    sa.Column("started", UtcDateTime),
    sa.Column("heartbeat", UtcDateTime),
    sa.Column("ended", UtcDateTime),
    _required("error", Text),
    _required("traceback", Text),
    _required("result", Json),
)

job_metric = sa.Table(
    "job_metric",
    metadata,
    sa.Column("job_id", Big, sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("name", Text, primary_key=True),
    sa.Column("step", sa.Double, primary_key=True),
    sa.Column("value", Number),
)

worker = sa.Table(
    "worker",
    metadata,
    sa.Column("owner", Text, primary_key=True),
    _required("queue", Text),
    _required("started", UtcDateTime),
    _required("heartbeat", UtcDateTime),
)

# --- triplets, models, vectors --------------------------------------------------------------------------------------

triplet_set = _table(
    "triplet_set",
    _to("corpus"),
    sa.Column("name", Text, nullable=False, unique=True),
    _required("kind", Text),
    _required("config", Json),
    _required("seed", Big),
    _required("digest", Text),
    _required("counts", Json),
    _required("ready", sa.Boolean),
    _required("created", UtcDateTime),
    _revision(),
)

triplet = _table(
    "triplet",
    sa.Column("set_id", Big, sa.ForeignKey("triplet_set.id", ondelete="CASCADE"), nullable=False),
    _required("split", sa.Integer),
    _required("article_id", Big),
    _required("pivot_id", Big),
    _required("positive_id", Big),
    _required("negative_id", Big),
    sa.Index(None, "set_id", "split", "id"),
)

# Rows are only added. The latest verdict of a person on a triplet counts; "" withdraws the earlier ones.
triplet_review = _table(
    "triplet_review",
    sa.Column("set_id", Big, sa.ForeignKey("triplet_set.id", ondelete="CASCADE"), nullable=False),
    _required("triplet_id", Big),
    _required("person", Text),
    _required("verdict", Text),
    _required("note", Text),
    _required("created", UtcDateTime),
    sa.Index(None, "set_id", "triplet_id", "person"),
)

model = _table(
    "model",
    sa.Column("name", Text, nullable=False, unique=True),
    _required("method", Text),
    _required("config", Json),
    _required("seed", Big),
    sa.Column("digest", Text, nullable=False, unique=True),
    # A model is kept when its training data are deleted.
    _to("corpus", nullable=True, ondelete="SET NULL"),
    _to("triplet_set", nullable=True, ondelete="SET NULL"),
    _required("metrics", Json),
    _required("artifact", Text),
    _required("created", UtcDateTime),
    _revision(),
    sa.Column("multilingual", sa.Boolean, nullable=False, server_default=sa.false()),
)

embedding = sa.Table(
    "embedding",
    metadata,
    sa.Column("model_id", Big, sa.ForeignKey("model.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), primary_key=True, index=True),
    _required("format", Text),
    _required("dtype", Text),
    _required("rows", sa.Integer),
    _required("dim", sa.Integer),
    _required("data", sa.LargeBinary),
)

vector_file = _table(
    "vector_file",
    _to("model"),
    _required("digest", Text),
    _required("size", Big),
    _required("created", UtcDateTime),
)

# A block whose vectors are "rows" rows of a file, from row "first" on.
filed_embedding = sa.Table(
    "filed_embedding",
    metadata,
    sa.Column("model_id", Big, sa.ForeignKey("model.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), primary_key=True, index=True),
    _to("vector_file", "file_id"),
    _required("first", sa.Integer),
    _required("rows", sa.Integer),
)

# The newest index of a model's vectors of a corpus; the row goes when one of these vectors changes.
vector_index = _table(
    "vector_index",
    _to("model"),
    _to("corpus"),
    _required("digest", Text),
    _required("size", Big),
    _required("vectors", Big),
    _required("recall", sa.Double),
    _required("created", UtcDateTime),
    sa.UniqueConstraint("model_id", "corpus_id", name="uq_vector_index_model_id"),
)

# --- benchmarks, runs and maps --------------------------------------------------------------------------------------

benchmark = _table(
    "benchmark",
    _to("corpus"),
    sa.Column("name", Text, nullable=False, unique=True),
    _required("config", Json),
    _required("digest", Text),
    _required("counts", Json),
    _required("created", UtcDateTime),
    _revision(),
)

benchmark_item = sa.Table(
    "benchmark_item",
    metadata,
    sa.Column("benchmark_id", Big, sa.ForeignKey("benchmark.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    _to("article"),
    _required("sentence_ids", sa.LargeBinary),
    _required("truth", sa.LargeBinary),
)

run = _table(
    "run",
    _required("kind", Text),
    sa.Column("digest", Text, nullable=False, unique=True),
    _to("model", nullable=True),
    _to("benchmark", nullable=True),
    _to("triplet_set", nullable=True),
    _to("corpus", nullable=True),
    _required("clusterer", Text),
    _required("config", Json),
    _required("seed", Big),
    _required("seconds", sa.Double),
    _required("created", UtcDateTime),
)

assignment = sa.Table(
    "assignment",
    metadata,
    sa.Column("run_id", Big, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), primary_key=True, index=True),
    _required("labels", sa.LargeBinary),
)

score = _table(
    "score",
    _to("run"),
    _to("article", nullable=True),
    _required("metric", Text),
    _required("value", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    _required("n", sa.Integer),
)

margin = sa.Table(
    "margin",
    metadata,
    sa.Column("run_id", Big, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("split", sa.Integer, primary_key=True),
    _required("triplet_ids", sa.LargeBinary),
    _required("margins", sa.LargeBinary),
)

map_ = _table(
    "map",
    _to("corpus"),
    _to("model"),
    _required("name", Text),
    _required("config", Json),
    _required("seed", Big),
    sa.Column("digest", Text, nullable=False, unique=True),
    sa.Column("faithfulness", Number),
    _required("sampled_from", Big),
    _required("created", UtcDateTime),
    _required("sentence_ids", sa.LargeBinary),
    _required("points", sa.LargeBinary),
)

# --- tables of papers -----------------------------------------------------------------------------------------------

# No reference to runs or models: results are kept when those are deleted.
paper_table = _table(
    "paper_table",
    _required("paper", Text),
    _required("name", Text),
    _required("profile", Text),
    _required("arguments", Json),
    _required("content", Json),
    _required("created", UtcDateTime),
    sa.UniqueConstraint("paper", "name", "profile", name="uq_paper_table_paper_name_profile"),
)

# --- saved views of pages ---------------------------------------------------------------------------------------------

saved_view = _table(
    "saved_view",
    _required("page", Text),
    _required("name", Text),
    _required("query", Text),
    _required("person", Text),
    _required("created", UtcDateTime),
    sa.UniqueConstraint("page", "name", name="uq_saved_view_page_name"),
)

# --- selections -----------------------------------------------------------------------------------------------------

# The ids of the sentences are a block, as in maps. Without a name it was only shared as a link.
selection = _table(
    "selection",
    _to("corpus"),
    _required("name", Text),
    _required("person", Text),
    _required("created", UtcDateTime),
    _required("origin", Json),
    _required("digest", Text),
    _required("sentences", Big),
    _required("sentence_ids", sa.LargeBinary),
)
