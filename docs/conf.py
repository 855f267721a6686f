"""Configuration of the documentation site, which ``make docs`` builds with Sphinx into docs/_build/html."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
# The packages are documented from this checkout, and the extension of the site lies beside this file.
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

project = "Themescope"
copyright = "the authors of Themescope"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "extension"]
exclude_patterns = ["_build", "deploy"]
nitpicky = True

html_theme = "furo"
html_title = "Themescope"
html_favicon = "../webapp/shared/assets/icon.svg"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# Formulas become MathML when the site is built: MathJax would be loaded from another host, or be a megabyte of scripts.
html_math_renderer = "mathml"
# The same commit gives the same files, whenever it is built.
html_last_updated_fmt = None

# The anchors that GitHub gives to headings, so that links work in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
