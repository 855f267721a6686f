"""What the code of the pages calls: services with the store of the visitor, and methods of repositories."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from themescope.db.store import Unit

ROOT = Path(__file__).parents[2]
READING = {
    "themescope.jobs.common.judged.judged_pairs",
    "themescope.jobs.services.labelling.methods.preview_method",
    "themescope.jobs.services.labelling.metrics.learn_from_labels",
    "themescope.jobs.services.labelling.metrics.model_in_use",
    "themescope.jobs.services.labelling.questions.prepare_vectors",
    "themescope.jobs.services.methods.methods_section",
    "themescope.jobs.services.notebook.cases.sentence_case",
    "themescope.jobs.services.notebook.report.report",
    "themescope.jobs.services.notebook.samples.failures",
    "themescope.jobs.services.tasks.checks.checks",
    "themescope.jobs.services.tasks.checks.route",
    "themescope.jobs.common.model_notes.base_note",
    "themescope.jobs.common.model_choice.best_first",
    "themescope.jobs.common.model_notes.language_note",
    "themescope.jobs.common.models.built_on",
    "themescope.jobs.common.models.selectable_models",
    "themescope.jobs.common.theme_naming.materials_of_run",
    "themescope.jobs.kinds.learn_labels.placed_for_training",
    "themescope.jobs.kinds.learn_labels.training_labels",
    "themescope.jobs.services.backups.backup_state",
    "themescope.jobs.services.everything.find_everything",
    "themescope.jobs.services.inference.attention_of",
    "themescope.jobs.services.inference.models_for",
    "themescope.jobs.services.inference.preload",
    "themescope.jobs.services.inference.query_vector",
    "themescope.jobs.services.inference.stored_blocks",
    "themescope.jobs.services.inference.vectors_of",
    "themescope.jobs.services.labelling.assistance.similarities",
    "themescope.jobs.services.labelling.clusters.preview_parts",
    "themescope.jobs.services.labelling.codebook.finder",
    "themescope.jobs.services.labelling.codebook.json_text",
    "themescope.jobs.services.labelling.codebook.markdown",
    "themescope.jobs.services.labelling.qda_projects.plan_project",
    "themescope.jobs.services.labelling.codebook.qdc",
    "themescope.jobs.services.labelling.qda_projects.qdpx",
    "themescope.jobs.services.labelling.codebook.table",
    "themescope.jobs.services.labelling.codebook.web_page",
    "themescope.jobs.services.labelling.files.export_lines",
    "themescope.jobs.services.labelling.files.rows",
    "themescope.jobs.services.labelling.starts.from_labels",
    "themescope.jobs.services.labelling.tables.plan",
    "themescope.jobs.services.people.members",
    "themescope.jobs.services.pipeline.steps_of",
    "themescope.jobs.services.pipeline.working",
    "themescope.jobs.services.remote.search.find_similar",
    "themescope.jobs.services.search.index_of",
    "themescope.jobs.services.search.near",
    "themescope.jobs.services.columns.file_content",
    "themescope.jobs.services.search.sentences_with_words",
    "themescope.jobs.services.selections.centrality",
    "themescope.jobs.services.selections.compare",
    "themescope.jobs.services.selections.model_of",
    "themescope.jobs.services.selections.read_sentences",
    "themescope.jobs.services.selections.rows",
    "themescope.jobs.services.selections.texts_of",
}
"""Services of the pages that change nothing."""
SIGNING_IN = {
    "themescope.jobs.services.people.check_sharing",
    "themescope.jobs.services.sign_in.keep_alive",
    "themescope.jobs.services.sign_in.remember_name",
    "themescope.jobs.services.sign_in.session_of",
    "themescope.jobs.services.api_tokens.actor_of",
    "themescope.jobs.services.api_tokens.create",
    "themescope.jobs.services.api_tokens.revoke",
    "themescope.jobs.services.sign_in.account_of",
}
"""Services of the server itself, before a visitor is known; tests/webapp/test_sign_in.py tests them.

The account page, too, is one of the server: people make and revoke tokens of their own (tests/webapp/test_account.py).
"""
ON_AN_EMPTY_STORE = {"themescope.jobs.services.demo.seed_demo"}
_ALL = Unit(None, None)  # type: ignore[arg-type]
REPOSITORIES = {
    name for name, value in vars(_ALL).items() if type(value).__module__.startswith("themescope.db.repositories.")
}
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
            if full.startswith("themescope.jobs.") and any(ast.unparse(given) in _STORES for given in call.args):
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
