"""What a training changed: a model before and after, on the same test triplets, and whether the difference is one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from webapp.shared.text import count, interval, score
from webapp.shared.triplet_effects import Effect, Measured


def difference(effect: Effect, found: Measured, rows: tuple[str, str]) -> None:
    """Before and after under the names ``rows``, the difference with its interval, and what it may mean."""
    gap = found.test.difference
    frame = pd.DataFrame(
        {
            "": [*rows, "Difference"],
            "Model": [effect.before.name, effect.after.name, ""],
            "Triplet accuracy": [
                score(found.accuracy_before), score(found.accuracy_after), interval(gap.value, gap.low, gap.high)
            ],
        }
    )  # fmt: skip
    st.dataframe(frame, hide_index=True, width="content")
    sure = "no difference can be told" if gap.low <= 0 <= gap.high else "a difference at the 5 % level"
    st.caption(
        f"95 % interval of the paired bootstrap over {count(gap.n, 'article')}; Wilcoxon over articles p = "
        f"{found.test.p:.2g}: {sure}. One training each: a part of any difference is the chance of training, "
        "which other seeds would show."
    )
