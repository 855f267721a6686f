"""What pages, the HTTP API, commands and MCP tools do: ``python -m tests.contracts.operations --write`` writes it.

The table in docs/operations.md has every page, every operation, every command, and every action that
``tests.contracts.test_actions`` does as each kind of visitor.
"""

import sys
from dataclasses import dataclass

from tests.places import ROOT
from themescope.jobs.api.application import description

DOCUMENT = ROOT / "docs" / "operations.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"
OF_PAGES = "It is about what a page shows, and a program has no page."
BY_ADMINS = "A token that is stolen must not make admins, passwords or tokens: the page People and the command only."
NOT_BY_COMMAND = "A decision about single texts, for which people look at them: by the page or a program."
IN_LIBRARY = "Computed from what other operations return, by the library (`themescope.core`)."
NO_DELETION = "No command deletes."


@dataclass(frozen=True)
class Row:
    """What people do on a page, and how else it is done; a blank cell has a reason."""

    pages: str
    what: str
    operations: str = ""
    commands: str = ""
    why: str = ""
    actions: str = ""
    """Names in ``tests.contracts.test_actions``, separated by semicolons."""


ROWS = (
    Row("corpora", "List corpora, articles, sections, sentences and columns",
        "list_corpora get_corpus list_columns list_articles get_article list_sections list_sentences "
        "list_sentences_of_article get_sentence", "list, skipped"),
    Row("corpora", "Import files, bundles and datasets", "upload_file queue_job", "import, bundle, demo", "",
        "queue a job; queue a pipeline; build a sample"),
    Row("corpora", "Add a wave", "append_sentences upload_file queue_job", "append, place"),
    Row("corpora", "Remove a wave or articles, correct a text, undo", "list_edits edit_corpus undo_edit", "edit"),
    Row("corpora", "Cluster the sentences of an article", "queue_job list_clustered_articles get_clustering", "cluster",
        "", "cluster an article"),
    Row("corpora", "Delete a corpus", "delete_corpus", "", NO_DELETION, "delete a corpus"),
    Row("corpora", "Export a bundle or a dataset", "queue_job", "bundle, dataset"),
    Row("map", "Compute a map, read its points", "queue_job list_maps get_map list_points", "map"),
    Row("map search compare", "Save a view", "", "", OF_PAGES,
        "add a view; delete an own view; delete a view of another"),
    Row("search home", "Search by text, words and meaning", "search_sentences list_similar_sentences", "similar"),
    Row("selections", "Keep, read and delete a selection",
        "list_selections get_selection create_selection delete_selection list_selected_sentences", "",
        NOT_BY_COMMAND, "add a selection; delete an own selection; delete a selection of another"),
    Row("selections", "Put a selection into a cluster", "assign create_cluster", "", NOT_BY_COMMAND,
        "assign a selection; make a cluster of a selection"),
    Row("selections", "Compare two selections", "", "", "Computed from the sentences, which other operations return."),
    Row("themes", "Find the themes of a list of sentences", "find_themes queue_job", "cluster"),
    Row("themes", "Read themes with their sentences", "list_theme_runs get_theme_run list_theme_members export_themes",
        "list"),
    Row("themes", "Rename themes, also by a language model", "rename_theme queue_job", "name-themes", "",
        "rename a theme; change settings of a run"),
    Row("relabel", "Create, rename, share, delete and restore a labelling",
        "list_labellings create_labelling get_labelling change_labelling delete_labelling restore_labelling", "labels",
        "", "begin a labelling; rename a shared labelling; share an own labelling; delete an own labelling; "
        "share the labelling of another; delete the labelling of another; restore the labelling of another"),
    Row("relabel", "Assign, give codes, mark, note, create, merge and delete clusters, undo",
        "list_labels assign give_code unassign mark note create_cluster rename_cluster delete_cluster merge_clusters "
        "list_steps undo redo", "", NOT_BY_COMMAND, "label"),
    Row("relabel", "Answer questions", "", "",
        "A question follows from the vectors in the memory of one session; a program assigns sentences itself."),
    Row("relabel", "Learn a metric from labels, choose the method", "queue_job", "jobs",
        "A learned metric is kept from the preview of a page only; `learn-labels` trains a model from the same labels.",
        "keep a metric"),
    Row("relabel", "Predict the other labels, code with a language model", "queue_job list_predictions", "code"),
    Row("relabel", "Import and export labels", "export_labels queue_job", "labels",
        "Files of labels are imported by a page or the command, which show first what fits.",
        "import the history of others"),
    Row("relabel", "See who else is here", "", "", OF_PAGES, "tell that one is here"),
    Row("codebook", "Read, write, import and export a codebook", "get_codebook adopt_codebook export_codebook", "",
        NOT_BY_COMMAND),
    Row("codebook", "Practise", "", "", OF_PAGES, "record an attempt; record an attempt of another"),
    Row("tasks", "Make a task, or a sample as one, and give its items away", "", "sample",
        "The plan is shown before it is made: by the page, and samples by the command.",
        "make a task; give items away; add a member; send items to a third person"),
    Row("tasks", "Work on items, close and delete a task",
        "list_tasks list_task_items open_item finish_item reopen_item close_task delete_task", "",
        "An item is labelled by its person, on a page or by a program of the person.",
        "open an own item; finish an own item; reopen an own item; close a task; delete a task"),
    Row("agreement estimates", "Agreement of coders, shares of codes with intervals, methods paragraph",
        "export_labels", "estimate, methods", IN_LIBRARY),
    Row("train", "Train, evaluate and add models, read their cards and curves",
        "queue_job list_models get_model_card list_job_metrics list_runs get_run",
        "train, experiment, embed, evaluate, add-model"),
    Row("train", "Delete a model, mark it as multilingual", "delete_model", "",
        f"{NO_DELETION} Languages of a model are marked where its card is read: on the page.",
        "delete a model; call a model multilingual"),
    Row("", "Download models and vectors", "export_model export_vectors", "export-model"),
    Row("triplets", "Sample triplets, read, review and delete them",
        "queue_job list_triplet_sets list_triplets list_triplet_reviews review_triplet delete_triplet_set", "triplets",
        "", "review; review for another; delete triplets"),
    Row("compare summaries", "Compare methods by their scores", "queue_job list_runs list_benchmarks",
        "evaluate, list"),
    Row("paper_tables", "Reproduce the tables of a paper", "queue_job list_paper_tables", "reproduce", "",
        "reproduce a table"),
    Row("notebook", "Collect, code and note errors",
        "list_error_cases add_error_case delete_error_case add_error_note list_error_categories add_error_category "
        "code_error_case", "",
        "Categories are changed, merged and restored, and samples drawn, where their cases are read: on the page.",
        "add a case; note on a case of another; change an own note; delete an own case; add a category; "
        "change a category; merge categories; delete a category; restore a category; code; undo a code; draw a sample; "
        "add a case for another; change a note of another; delete a case of another; restore a case; code for another"),
    Row("jobs", "Queue, follow, cancel, retry and delete jobs",
        "list_job_kinds get_job_kind list_jobs queue_job get_job cancel_job retry_job delete_job", "jobs", "",
        "cancel a job; retry a job; cancel a pipeline; retry a pipeline"),
    Row("people", "See people, change roles, passwords and tokens", "list_people get_me", "people", BY_ADMINS,
        "change a role; change a role as if by an admin; add an admin; remove somebody"),
    Row("", "Run and keep a server", "", "worker, mcp, doctor, backup, restore",
        "The owner of the data folder does this on the server."),
    Row("", "Write a report of a project", "", "report",
        "A report is a file for people, written by the page or the command."),
)  # fmt: skip


def tools() -> set[str]:
    """Return the names of the MCP tools, which are those of operations."""
    from themescope.jobs.mcp import tools

    return {str(tool.operation["operationId"]) for tool in tools()}


def operations() -> set[str]:
    """Return the names of the operations of the HTTP API."""
    return {one["operationId"] for path in description()["paths"].values() for one in path.values()}


def table() -> str:
    """Return the rows as a table in Markdown."""
    offered = tools()

    def names(all: list[str]) -> str:
        return " ".join(f"`{name}`" for name in all) or "–"

    lines = ["| page | what | HTTP API | MCP | command | remark |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        found = row.operations.split()
        as_tools = [name for name in found if name in offered]
        mcp = "all" if found and as_tools == found else names(as_tools)
        commands = names(row.commands.split(", ") if row.commands else [])
        pages = ", ".join(row.pages.split()).replace("_", " ") or "–"
        lines.append(f"| {pages} | {row.what} | {names(found)} | {mcp} | {commands} | {row.why} |")
    return "\n".join(lines) + "\n"


def documented() -> str:
    """Return the table as it is documented."""
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(text.replace(BEGIN + documented() + END, BEGIN + table() + END), encoding="utf-8")
    else:
        sys.stdout.write(table())
