"""Sphinx configuration: MyST pages, NumPy docstrings, nothing fetched from the network."""

from __future__ import annotations

from zidane_lab import __version__

project = "zidane_lab"
author = "zidane_lab contributors"
copyright = f"2026, {author}"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "zidane_lab"
html_static_path = ["_static"]
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"
