"""Sphinx configuration: `sphinx-build -W -b html docs docs/_build/html`."""

from __future__ import annotations

from typing import Any

import meanfield

project = "meanfield"
author = "The meanfield authors"
copyright = "2026, The meanfield authors"
version = release = meanfield.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"meanfield {release}"
html_copy_source = False

# Single backticks in docstrings are code, as numpydoc has it.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types, with shapes
# Types in docstrings are words, and a word may be the name of several attributes; numbered
# references of a docstring need not be cited in it.
suppress_warnings = ["ref.python", "ref.footnote"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True


def setup(app: Any) -> None:
    """Docstrings pass through `plain_formulas` before napoleon reads them."""
    app.connect("autodoc-process-docstring", plain_formulas, priority=400)


def plain_formulas(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Make literal blocks of indented formulas, and keep |beta| from being a substitution.

    Docstrings are written to be read in the source and in `help()`: a formula is an indented
    block after a blank line. reStructuredText would take that for a quotation.
    """
    if what in ("property", "attribute", "data") and lines:
        # Napoleon would take what stands before a colon for the type.
        lines[0] = lines[0].replace(": ", "; ")
    changed: list[str] = []
    before_sections = True  # in a section, indented text is a description
    in_formula = False
    for i, line in enumerate(lines):
        underlined = i + 1 < len(lines) and set(lines[i + 1].strip()) == {"-"}
        if underlined and line and not line.startswith(" "):
            before_sections = False
        indented = line.startswith("    ")
        if before_sections and indented and not in_formula and not lines[i - 1].strip():
            changed += ["::", ""]
            in_formula = True
        elif line.strip() and not indented:
            in_formula = False
        changed.append(line if in_formula or ">>>" in line else line.replace("|", "\\|"))
    lines[:] = changed
