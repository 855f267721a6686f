"""The map of themes as a widget of notebooks: the component of the pages, without a server.

Events of the browser change a :class:`~themescope.webapp.map_view.scene.MapState`, as on a page, and what the
browser needs is sent after each. Nothing is loaded from other hosts.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from themescope.core.errors import optional_module
from themescope.core.records.stored import ArticleRecord
from themescope.core.types import Index

if TYPE_CHECKING:
    import pandas as pd

    from themescope.core.themes import Themes

_FEATURE = "The map in a notebook"
anywidget: Any = optional_module("anywidget", _FEATURE, "anywidget", "app,notebook")
traitlets: Any = optional_module("traitlets", _FEATURE, "anywidget", "app,notebook")
streamlit: Any = optional_module("streamlit", _FEATURE, "streamlit", "app,notebook")
if not streamlit.runtime.exists():
    streamlit.logger.set_log_level("ERROR")  # its caches warn that there is no server, which is so on purpose

from themescope.webapp.map_view import component  # noqa: E402
from themescope.webapp.map_view.component import EVENTS, handle  # noqa: E402
from themescope.webapp.map_view.scene import Colouring, MapState, Scene, frame_of, point_size, units_of  # noqa: E402
from themescope.webapp.shared.figures import tones  # noqa: E402

_SCRIPT = """
const points = (() => { %s return main; })();
const view = (() => { %s return main; })();
export default {
  render({ model, el }) {
    const root = document.createElement("div");
    root.className = "map-view";
    el.append(root);
    const send = (name, value) => model.send({ name, value });
    const show = () => view({ data: model.get("view"), parentElement: el, setTriggerValue: send, setStateValue: send });
    points({ data: model.get("points") });
    model.on("change:view", show);
    show();
    return () => model.off("change:view", show);
  },
};
"""


def _module(*names: str) -> str:
    return component.source(*names).replace("export default function", "const main = function")


class ThemesMap(anywidget.AnyWidget):
    """A map of the different sentences of themes, with lasso, legend, texts under the pointer and names of regions.

    A selected sentence stands for all that are identical to it.
    """

    _esm = _SCRIPT % (_module(*component.POINTS_SOURCE), _module(*component.VIEW_SOURCE))
    _css = component.source(component.STYLE)
    points = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, themes: Themes, height: int, theme: Literal["light", "dark"], seed: int) -> None:
        self.themes, self.state = themes, MapState()
        drawn, labels, texts = themes.layout(seed), themes.different_labels, themes.different_sentences
        n = len(texts)
        zeros, units = np.zeros(n, np.int64), units_of(drawn)
        document = ArticleRecord(0, 0, 0, "", "", "", 0, 0, n)
        scene = Scene(np.arange(n), drawn, units, zeros, np.arange(n), zeros.astype(np.int32), [""], {0: document})
        self.canvas = component.Canvas(
            scene=scene,
            colouring=Colouring(labels.astype(np.int64), [one.name for one in themes.themes], "no theme"),
            units=units,
            found=np.empty(0, np.intp),
            tones=tones(theme),
            size=point_size(n),
            opacity=0.8,
            height=height,
            name="themes",
            frame=frame_of(units),
            texts=lambda rows: [texts[row] for row in rows],
        )
        super().__init__(points=component.points_data(self.canvas), view=component.view_data(self.canvas, self.state))
        self.on_msg(self._handle)

    @property
    def rows(self) -> Index:
        """Rows of the selected sentences; none without a selection."""
        return self.themes.rows_of(self.state.rows(self.canvas.scene))

    @property
    def selection(self) -> pd.DataFrame:
        """The selected sentences, see :meth:`~themescope.core.themes.Themes.to_frame`."""
        return self.themes.to_frame().iloc[self.rows]

    def _handle(self, _: Any, event: Any, __: Any) -> None:
        if isinstance(event, dict) and event.get("name") in EVENTS:
            handle(self.canvas, self.state, event["name"], event.get("value"))
            self.view = component.view_data(self.canvas, self.state)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, and a picture for viewers that run no scripts."""
        data, metadata = super()._repr_mimebundle_(**options)
        return data | {
            "image/png": base64.b64encode(component.picture_png(self.canvas, tuple(self.state.hidden))).decode()
        }, metadata
