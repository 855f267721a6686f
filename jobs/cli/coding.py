"""Command `labels code`: a language model codes the sentences of a labelling by its codebook."""

from __future__ import annotations

from typing import Any

import click

from themescope.jobs.cli.arguments import job_options
from themescope.jobs.cli.shell import Shell, background, common, pairs, pass_shell, table
from themescope.jobs.common.language_models.coding import (
    KIND,
    CodingRequest,
    estimate,
    newest_result,
    plan_of,
)
from themescope.jobs.common.language_models.requests import Endpoint

_COUNTS = {
    "coded": "sentences coded", "no_code": "that no code fits", "invented": "with a code that is not in the codebook",
    "unusable": "without a usable answer", "failed": "not asked or not answered",
    "examples": "left out as examples of the prompt", "requests": "requests sent", "known": "answers kept from before",
    "seconds": "seconds",
}  # fmt: skip


@click.command("code")
@click.argument("labelling")
@job_options(KIND, ["sentences", "limit", "batch", "instructions", "name", "person", "timeout", "parallel", "seed"])
@click.option("--send", is_flag=True, help="Send the texts; without it, they are only shown.")
@click.option("--prices", type=(float, float), default=(0.0, 0.0), help="Prices of a million tokens read and written.")
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
