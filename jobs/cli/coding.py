"""Command `labels code`: a language model codes the sentences of a labelling by its codebook."""

from __future__ import annotations

from typing import Any

import click

from themescope.jobs.cli.shell import Shell, background, common, pairs, pass_shell, seed_option, table
from themescope.jobs.common.language_models.client import Endpoint
from themescope.jobs.common.language_models.coding import (
    ALL,
    KIND,
    LABELLED,
    CodingRequest,
    estimate,
    newest_result,
    plan_of,
)

_COUNTS = {
    "coded": "sentences coded", "no_code": "that no code fits", "invented": "with a code that is not in the codebook",
    "unusable": "without a usable answer", "failed": "not asked or not answered",
    "examples": "left out as examples of the prompt", "requests": "requests sent", "known": "answers kept from before",
    "seconds": "seconds",
}  # fmt: skip


@click.command("code")
@click.argument("labelling")
@click.option(
    "--sentences", type=click.Choice((ALL, LABELLED)), default=ALL, show_default=True, help="Sentences to code."
)
@click.option("--limit", type=click.IntRange(min=0), default=0, help="Number of sentences, drawn at random; 0: all.")
@click.option("--batch", type=click.IntRange(1, 50), default=10, show_default=True, help="Sentences of a request.")
@click.option(
    "--instructions", multiple=True, help="Instructions before the codebook (repeatable; several are compared)."
)
@click.option("--name", default="", help="Name of the labelling that is made.")
@click.option("--person", default="", help="Owner of the labelling that is made.")
@click.option("--send", is_flag=True, help="Send the texts; without it, they are only shown.")
@click.option("--prices", type=(float, float), default=(0.0, 0.0), help="Prices of a million tokens read and written.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), default=60.0, show_default=True, help="Seconds per request."
)
@click.option("--parallel", type=click.IntRange(1, 16), default=4, show_default=True, help="Requests at the same time.")
@seed_option("Seed of the sample, and of the folds of a comparison.")
@background
@common
@pass_shell
def code(shell: Shell, labelling: str, send: bool, prices: tuple[float, float], **options: Any) -> None:
    """Code the sentences of LABELLING by its codebook with the language model at LLM_URL.

    Shows what would be sent, where, and what it takes; nothing is sent without --send. The codes become a labelling of
    their own, made by a machine, which the page Agreement compares with people.
    """
    endpoint = Endpoint.of(shell.store.settings)
    asked = {key: options[key] for key in ("sentences", "limit", "seed", "batch")}
    instructions = options.pop("instructions")
    plan = plan_of(shell.store, CodingRequest(labelling, **asked, instructions=instructions or ("",)))
    if not send:
        found = estimate(plan, endpoint, newest_result(shell.store))
        about: dict[str, Any] = {
            "endpoint": endpoint.url, "model": endpoint.model,
            "requests": found.requests, "requests at most": found.most,
            "texts": len(plan.texts), "left out as examples": plan.examples, "tokens read, about": found.read,
            "tokens written, about": found.written,
            "seconds, about": "unknown before the first job" if found.seconds is None else round(found.seconds),
        }  # fmt: skip
        about |= {"cost, about": round(found.cost(*prices), 4)} if any(prices) else {}
        text = f"{plan.text}\n\n{pairs(about)}\n\nNothing was sent. With --send, this goes to {endpoint.url}."
        shell.show({"sent": False, **about, "text": plan.text}, text)
        return
    args = {"labelling": labelling, "endpoint": endpoint.url, "model": endpoint.model, "texts": plan.digest}
    result = shell.run(KIND, args | {"send": True, "instructions": list(instructions), **options})
    if "coded" not in result:
        shell.show(result, str(result.get("title", "")))
        return
    rows = [{"": _COUNTS[key], "number": result[key]} for key in _COUNTS]
    parts = [f"“{result['labelling']}”", table(rows)]
    if "prompts" in result:
        shown = [{"instructions": row["instructions"], "accuracy": round(row["value"], 3)} for row in result["prompts"]]
        chosen = result["cross_validated"]
        told = f"Best: {result['best'] + 1}. Cross-validated accuracy of choosing the best: {chosen['value']:.3f} "
        parts += [table(shown), f"{told}[{chosen['low']:.3f}, {chosen['high']:.3f}]"]
    parts += [f"{problem['reason']}: {problem['sentence']:.80}" for problem in result["problems"]]
    shell.show(result, "\n".join(parts))
