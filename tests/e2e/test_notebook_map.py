"""The notebook of the documentation: in a kernel, and with a lasso that is drawn on its map in Chromium."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Browser, Page

from tests.e2e.conftest import ROOT, new_tab
from tests.e2e.hands import draw

NOTEBOOK = ROOT / "docs" / "notebooks" / "themes.ipynb"
# What JupyterLab and VS Code do with a widget: they import its module, give it a model and listen to its messages.
HOST = """
async ([esm, css, state]) => {
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const widget = (await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })))).default;
  const listeners = new Map();
  window.model = {
    get: (name) => state[name],
    on: (name, listener) => listeners.set(name, listener),
    off: (name) => listeners.delete(name),
    send: (message) => window.toKernel(message).then((view) => {
      state.view = view;
      listeners.get("change:view")?.();
    }),
  };
  widget.render({ model: window.model, el: document.getElementById("output") });
}
"""


@pytest.mark.slow
def test_the_notebook_runs_in_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", paths)
    notebook = nbformat.read(NOTEBOOK, 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "stream"]  # no warnings on the way
    forms = [set(output.get("data", {})) for output in shown]
    assert "4 themes of 22 sentences. 1 left out (no text)." in shown[0].data["text/html"]
    assert {"application/vnd.jupyter.widget-view+json", "image/png"} <= forms[1]
    table = pd.read_csv(tmp_path / "answers-with-themes.csv")
    assert table["theme"].tolist()[-1] == -1 and len(table) == 23


@pytest.fixture
def output(browser: Browser) -> Iterator[Page]:
    """The output of a cell; nothing may be loaded, and no script may fail."""
    page = new_tab(browser)
    page.set_content('<div id="output"></div>')
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: asked.append(str(error)))
    yield page
    assert [url for url in asked if not url.startswith(("blob:", "data:"))] == []
    page.context.close()


def test_a_lasso_on_the_map_becomes_a_theme(output: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    variables: dict[str, Any] = {}
    run = (cell.source for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code")
    for _ in range(2):
        exec(next(run), variables)
    chart = variables["chart"]

    def to_kernel(message: Any) -> Any:
        chart._handle_custom_msg(message, [])
        return json.loads(json.dumps(chart.view))

    output.expose_function("toKernel", to_kernel)
    output.evaluate(HOST, [chart._esm, chart._css, {"points": chart.points, "view": chart.view}])
    output.wait_for_selector(".map-view[data-ready]")
    box = output.locator(".map-view .stage").bounding_box()
    assert box is not None
    corners = [(0.02, 0.12), (0.36, 0.12), (0.36, 0.92), (0.02, 0.92), (0.02, 0.2)]  # below the tools
    draw(output, box, [(x * box["width"], y * box["height"]) for x, y in corners], steps=5)
    output.wait_for_function("model.get('view').marked !== ''")
    assert 0 < len(chart.rows) < 22
    chosen = chart.selection["sentence"].tolist()
    for cell in run:
        exec(cell, variables)
    frame = variables["themes"].to_frame()
    assert frame["sentence"][frame["name"].isin(["My selection"])].tolist() == chosen or (
        "My selection" not in set(frame["name"]) and frame["name"].value_counts().iloc[0] == len(chosen)
    )
    assert len(pd.read_csv("answers-with-themes.csv")) == 23
