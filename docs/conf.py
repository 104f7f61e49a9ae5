"""Settings of the documentation site; `make docs` builds it."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "Stumpery"
author = "The Stumpery developers"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's name
release = version = metadata.version("stumpery")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "myst_nb",
    "sphinx_copybutton",
    "links",
    "reference",
    "results",
]
exclude_patterns = ["_site", "**/README.md"]

myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are committed with their outputs; the tests run them

default_role = "code"
autodoc_typehints = "none"  # the signature has the types, and Args: says what they mean
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": "object, Exception, tuple", "show-inheritance": False}
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "pydata_sphinx_theme"
html_title = f"Stumpery {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "logo": {"text": "Stumpery"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
