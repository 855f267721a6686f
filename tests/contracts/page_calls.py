"""What the code of the pages calls: services with the store of the visitor, and methods of repositories."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from db.store import Unit

ROOT = Path(__file__).parents[2]
READING = {
    "jobs.common.judged.judged_pairs",
    "jobs.services.labelling.methods.preview_method",
    "jobs.services.labelling.metrics.learn_from_labels",
    "jobs.services.labelling.metrics.model_in_use",
    "jobs.services.labelling.questions.prepare_vectors",
    "jobs.services.methods.methods_section",
    "jobs.services.notebook.cases.sentence_case",
    "jobs.services.notebook.report.report",
    "jobs.services.notebook.samples.failures",
    "jobs.services.tasks.checks.checks",
    "jobs.services.tasks.checks.route",
    "jobs.common.model_notes.base_note",
    "jobs.common.model_choice.best_first",
    "jobs.common.model_notes.language_note",
    "jobs.common.models.built_on",
    "jobs.common.models.selectable_models",
    "jobs.common.theme_naming.materials_of_run",
    "jobs.kinds.learn_labels.placed_for_training",
    "jobs.kinds.learn_labels.training_labels",
    "jobs.services.backups.backup_state",
    "jobs.services.everything.find_everything",
    "jobs.services.inference.attention_of",
    "jobs.services.inference.models_for",
    "jobs.services.inference.preload",
    "jobs.services.inference.query_vector",
    "jobs.services.inference.stored_blocks",
    "jobs.services.inference.vectors_of",
    "jobs.services.labelling.assistance.similarities",
    "jobs.services.labelling.clusters.preview_parts",
    "jobs.services.labelling.codebook.finder",
    "jobs.services.labelling.codebook.json_text",
    "jobs.services.labelling.codebook.markdown",
    "jobs.services.labelling.qda_projects.plan_project",
    "jobs.services.labelling.codebook.qdc",
    "jobs.services.labelling.qda_projects.qdpx",
    "jobs.services.labelling.codebook.table",
    "jobs.services.labelling.codebook.web_page",
    "jobs.services.labelling.files.export_lines",
    "jobs.services.labelling.files.rows",
    "jobs.services.labelling.starts.from_labels",
    "jobs.services.labelling.tables.plan",
    "jobs.services.people.members",
    "jobs.services.pipeline.steps_of",
    "jobs.services.pipeline.working",
    "jobs.services.remote.search.find_similar",
    "jobs.services.search.index_of",
    "jobs.services.search.near",
    "jobs.services.columns.file_content",
    "jobs.services.search.sentences_with_words",
    "jobs.services.selections.centrality",
    "jobs.services.selections.compare",
    "jobs.services.selections.model_of",
    "jobs.services.selections.read_sentences",
    "jobs.services.selections.rows",
    "jobs.services.selections.texts_of",
}
"""Services of the pages that change nothing."""
SIGNING_IN = {
    "jobs.services.people.check_sharing",
    "jobs.services.sign_in.keep_alive",
    "jobs.services.sign_in.remember_name",
    "jobs.services.sign_in.session_of",
    "jobs.services.api_tokens.actor_of",
    "jobs.services.api_tokens.create",
    "jobs.services.api_tokens.revoke",
    "jobs.services.sign_in.account_of",
}
"""Services of the server itself, before a visitor is known; tests/webapp/test_sign_in.py tests them.

The account page, too, is one of the server: people make and revoke tokens of their own (tests/webapp/test_account.py).
"""
ON_AN_EMPTY_STORE = {"jobs.services.demo.seed_demo"}
_ALL = Unit(None, None)  # type: ignore[arg-type]
REPOSITORIES = {name for name, value in vars(_ALL).items() if type(value).__module__.startswith("db.repositories.")}
_WRITES = re.compile(r"\b\w+\.(insert|update|delete)\(\)|\binsert\(\w+\.|bulk_insert\(")
_STORES = {"queries.store()", "store", "store()", "server_store.store()"}


def called_by_pages() -> set[str]:
    """Return the services of the pages by full name, and the methods of repositories as ``repository.method``."""
    found = set()
    for path in (ROOT / "webapp").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        origins = {
            alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if match := re.match(r"(?:r|w|repositories)\.(\w+)\.(\w+)$", name):
                found |= {".".join(match.groups())} if match[1] in REPOSITORIES else set()
            root = re.match(r"\w*", name)[0]  # type: ignore[index]
            full = origins.get(root, root) + name[len(root) :]
            if full.startswith("jobs.") and any(ast.unparse(given) in _STORES for given in call.args):
                found.add(re.sub(r"\(.*", "", full))
    return found


def writes(method: str) -> bool:
    """Return whether a method of a repository has a statement that writes, itself or in a method that it calls."""
    repository, _, name = method.partition(".")
    kind = type(getattr(_ALL, repository))
    pending, seen = [name], set()
    while pending:
        source = inspect.getsource(getattr(kind, name := pending.pop()))
        if _WRITES.search(source):
            return True
        seen.add(name)
        pending += {called for called in re.findall(r"self\.(\w+)\(", source) if hasattr(kind, called)} - seen
    return False
