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


def reference(table: str, name: str = "", *, nullable: bool = False, ondelete: str = "CASCADE") -> sa.Column[int]:
    """Return a column with the id of a row of another table, by default called ``table_id``, with an index."""
    key = sa.ForeignKey(f"{table}.id", ondelete=ondelete)
    return sa.Column(name or f"{table}_id", Big, key, nullable=nullable, index=True)


def id_table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """Return a table whose ids are never reused, even after the newest row is deleted."""
    return sa.Table(name, metadata, _id(), *parts, sqlite_autoincrement=True)


def required(name: str, kind: sa.types.TypeEngine | type[sa.types.TypeEngine]) -> sa.Column:
    """Return a column without NULL."""
    return sa.Column(name, kind, nullable=False)


def _revision() -> sa.Column[int]:
    """Return the column with the revision of the code that made a row; rows without a recorded one have 1."""
    return sa.Column("revision", sa.Integer, nullable=False, server_default=sa.text("1"))


_EMPTY = sa.text("''")

# --- text -----------------------------------------------------------------------------------------------------------

corpus = id_table(
    "corpus",
    sa.Column("name", Text, nullable=False, unique=True),
    required("language", Text),
    required("ready", sa.Boolean),
    required("created", UtcDateTime),
    required("articles", Big),
    required("sections", Big),
    required("paragraphs", Big),
    required("sentences", Big),
    required("report", Json),
)

article = id_table(
    "article",
    sa.Column("corpus_id", Big, sa.ForeignKey("corpus.id", ondelete="CASCADE"), nullable=False),
    required("position", sa.Integer),
    required("title", Text),
    required("url", Text),
    required("source", Text),
    required("bucket", sa.Integer),
    required("sections", sa.Integer),
    required("sentences", sa.Integer),
    sa.Column("topic", Text, nullable=False, server_default=_EMPTY),
    sa.Column("part", Text, nullable=False, server_default=_EMPTY),
    sa.UniqueConstraint("corpus_id", "position"),
)

section = id_table(
    "section",
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), nullable=False),
    required("position", sa.Integer),
    required("level", sa.Integer),
    required("title", Text),
    required("path", Json),
    sa.UniqueConstraint("article_id", "position"),
)

sentence = id_table(
    "sentence",
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), nullable=False),
    required("position", sa.Integer),
    required("section", sa.Integer),
    required("paragraph", sa.Integer),
    required("opens_paragraph", sa.Boolean),
    required("text", Text),
    sa.UniqueConstraint("article_id", "position"),
)

# A further field of the articles or sentences of a corpus. "about" has the categories, or the least and greatest value.
corpus_column = id_table(
    "corpus_column",
    sa.Column("corpus_id", Big, sa.ForeignKey("corpus.id", ondelete="CASCADE"), nullable=False),
    required("position", sa.Integer),
    required("name", Text),
    required("level", Text),
    required("type", Text),
    required("about", Json),
    sa.UniqueConstraint("corpus_id", "level", "name", name="uq_corpus_column_corpus_id"),
)

# Values of articles or sentences with consecutive ids from "first" on, or with the ascending ones in "ids".
column_block = sa.Table(
    "column_block",
    metadata,
    sa.Column("column_id", Big, sa.ForeignKey("corpus_column.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("first", Big, primary_key=True, autoincrement=False),
    required("rows", sa.Integer),
    required("ids", sa.LargeBinary),
    required("data", sa.LargeBinary),
)

# --- background work ------------------------------------------------------------------------------------------------

job = id_table(
    "job",
    required("kind", Text),
    required("title", Text),
    required("args", Json),
    sa.Column("status", Text, nullable=False, index=True),
    required("queue", Text),
    required("progress", sa.Double),
    required("message", Text),
    required("attempt", sa.Integer),
    required("owner", Text),
    reference("job", "after", nullable=True, ondelete="SET NULL"),
    required("cancel", sa.Boolean),
    required("created", UtcDateTime),
    required("queued", UtcDateTime),
    sa.Column("started", UtcDateTime),
    sa.Column("heartbeat", UtcDateTime),
    sa.Column("ended", UtcDateTime),
    required("error", Text),
    required("traceback", Text),
    required("result", Json),
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
    required("queue", Text),
    required("started", UtcDateTime),
    required("heartbeat", UtcDateTime),
)

# --- triplets, models, vectors --------------------------------------------------------------------------------------

triplet_set = id_table(
    "triplet_set",
    reference("corpus"),
    sa.Column("name", Text, nullable=False, unique=True),
    required("kind", Text),
    required("config", Json),
    required("seed", Big),
    required("digest", Text),
    required("counts", Json),
    required("ready", sa.Boolean),
    required("created", UtcDateTime),
    _revision(),
)

triplet = id_table(
    "triplet",
    sa.Column("set_id", Big, sa.ForeignKey("triplet_set.id", ondelete="CASCADE"), nullable=False),
    required("split", sa.Integer),
    required("article_id", Big),
    required("pivot_id", Big),
    required("positive_id", Big),
    required("negative_id", Big),
    sa.Index(None, "set_id", "split", "id"),
)

# Rows are only added. The latest verdict of a person on a triplet counts; "" withdraws the earlier ones.
triplet_review = id_table(
    "triplet_review",
    sa.Column("set_id", Big, sa.ForeignKey("triplet_set.id", ondelete="CASCADE"), nullable=False),
    required("triplet_id", Big),
    required("person", Text),
    required("verdict", Text),
    required("note", Text),
    required("created", UtcDateTime),
    sa.Index(None, "set_id", "triplet_id", "person"),
)

model = id_table(
    "model",
    sa.Column("name", Text, nullable=False, unique=True),
    required("method", Text),
    required("config", Json),
    required("seed", Big),
    sa.Column("digest", Text, nullable=False, unique=True),
    # A model is kept when its training data are deleted.
    reference("corpus", nullable=True, ondelete="SET NULL"),
    reference("triplet_set", nullable=True, ondelete="SET NULL"),
    required("metrics", Json),
    required("artifact", Text),
    required("created", UtcDateTime),
    _revision(),
    sa.Column("multilingual", sa.Boolean, nullable=False, server_default=sa.false()),
)

embedding = sa.Table(
    "embedding",
    metadata,
    sa.Column("model_id", Big, sa.ForeignKey("model.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), primary_key=True, index=True),
    required("format", Text),
    required("dtype", Text),
    required("rows", sa.Integer),
    required("dim", sa.Integer),
    required("data", sa.LargeBinary),
)

vector_file = id_table(
    "vector_file",
    reference("model"),
    required("digest", Text),
    required("size", Big),
    required("created", UtcDateTime),
)

# A block whose vectors are "rows" rows of a file, from row "first" on.
filed_embedding = sa.Table(
    "filed_embedding",
    metadata,
    sa.Column("model_id", Big, sa.ForeignKey("model.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), primary_key=True, index=True),
    reference("vector_file", "file_id"),
    required("first", sa.Integer),
    required("rows", sa.Integer),
)

# The newest index of a model's vectors of a corpus; the row goes when one of these vectors changes.
vector_index = id_table(
    "vector_index",
    reference("model"),
    reference("corpus"),
    required("digest", Text),
    required("size", Big),
    required("vectors", Big),
    required("recall", sa.Double),
    required("created", UtcDateTime),
    sa.UniqueConstraint("model_id", "corpus_id", name="uq_vector_index_model_id"),
)

# --- benchmarks, runs and maps --------------------------------------------------------------------------------------

benchmark = id_table(
    "benchmark",
    reference("corpus"),
    sa.Column("name", Text, nullable=False, unique=True),
    required("config", Json),
    required("digest", Text),
    required("counts", Json),
    required("created", UtcDateTime),
    _revision(),
)

benchmark_item = sa.Table(
    "benchmark_item",
    metadata,
    sa.Column("benchmark_id", Big, sa.ForeignKey("benchmark.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    reference("article"),
    required("sentence_ids", sa.LargeBinary),
    required("truth", sa.LargeBinary),
)

run = id_table(
    "run",
    required("kind", Text),
    sa.Column("digest", Text, nullable=False, unique=True),
    reference("model", nullable=True),
    reference("benchmark", nullable=True),
    reference("triplet_set", nullable=True),
    reference("corpus", nullable=True),
    required("clusterer", Text),
    required("config", Json),
    required("seed", Big),
    required("seconds", sa.Double),
    required("created", UtcDateTime),
)

assignment = sa.Table(
    "assignment",
    metadata,
    sa.Column("run_id", Big, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("article_id", Big, sa.ForeignKey("article.id", ondelete="CASCADE"), primary_key=True, index=True),
    required("labels", sa.LargeBinary),
)

score = id_table(
    "score",
    reference("run"),
    reference("article", nullable=True),
    required("metric", Text),
    required("value", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    required("n", sa.Integer),
)

margin = sa.Table(
    "margin",
    metadata,
    sa.Column("run_id", Big, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("split", sa.Integer, primary_key=True),
    required("triplet_ids", sa.LargeBinary),
    required("margins", sa.LargeBinary),
)

map_ = id_table(
    "map",
    reference("corpus"),
    reference("model"),
    required("name", Text),
    required("config", Json),
    required("seed", Big),
    sa.Column("digest", Text, nullable=False, unique=True),
    sa.Column("faithfulness", Number),
    required("sampled_from", Big),
    required("created", UtcDateTime),
    required("sentence_ids", sa.LargeBinary),
    required("points", sa.LargeBinary),
)

# --- tables of papers -----------------------------------------------------------------------------------------------

# No reference to runs or models: results are kept when those are deleted.
paper_table = id_table(
    "paper_table",
    required("paper", Text),
    required("name", Text),
    required("profile", Text),
    required("arguments", Json),
    required("content", Json),
    required("created", UtcDateTime),
    sa.UniqueConstraint("paper", "name", "profile", name="uq_paper_table_paper_name_profile"),
)

# --- saved views of pages ---------------------------------------------------------------------------------------------

saved_view = id_table(
    "saved_view",
    required("page", Text),
    required("name", Text),
    required("query", Text),
    required("person", Text),
    required("created", UtcDateTime),
    sa.UniqueConstraint("page", "name", name="uq_saved_view_page_name"),
)

# --- selections -----------------------------------------------------------------------------------------------------

# The ids of the sentences are a block, as in maps. Without a name it was only shared as a link.
selection = id_table(
    "selection",
    reference("corpus"),
    required("name", Text),
    required("person", Text),
    required("created", UtcDateTime),
    required("origin", Json),
    required("digest", Text),
    required("sentences", Big),
    required("sentence_ids", sa.LargeBinary),
)
