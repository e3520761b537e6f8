"""Sphinx configuration: `sphinx-build -W -b html docs docs/_build/html`."""

from __future__ import annotations

import io
import logging
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from weakref import WeakSet

from docutils import nodes
from latex2mathml.converter import convert
from matplotlib.figure import Figure
from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import figure_rst

import meanfield
from meanfield.commands.arguments import option_table
from meanfield.commands.main import main as command
from meanfield.runfile.schema import key_table

project = "meanfield"
author = "The meanfield authors"
copyright = "2026, The meanfield authors"
version = release = meanfield.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
# The gallery makes pages of these.
exclude_patterns = ["_build", "examples"]

html_theme = "furo"
html_title = f"meanfield {release}"
html_copy_source = False
# Browsers know MathML: pages load nothing from the network.
html_math_renderer = "mathml"

# Single backticks in docstrings are code, as numpydoc has it.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types, with shapes
# Types in docstrings are words, and a word may be the name of several attributes; numbered
# references of a docstring need not be cited in it.
# The gallery's settings hold functions, which are not kept between builds.
suppress_warnings = ["ref.python", "ref.footnote", "config.cache"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

# Sphinx would print the hand-overs and merges that runs report.
logging.getLogger("meanfield").setLevel(logging.WARNING)

# Order of pages and cards.
EXAMPLES = [
    "tutorial",
    "predict_clusters",
    "density_run",
    "view",
    "particles_and_limit",
    "sphere_maps",
    "noisy_transition",
    "lifetimes",
    "heads",
    "causal_mask",
    "merging_diagram",
    "shapes_without_normalization",
    "hardmax",
    "steering",
    "wasserstein",
    "files_and_resume",
]


def place(name: str) -> int:
    """Place of an example; an example that is not in the list is an error."""
    return EXAMPLES.index(name.removeprefix("plot_").removesuffix(".py"))


SHOWN: WeakSet[Figure] = WeakSet()


def figure_of(block: Any, names: dict[str, Any], settings: dict[str, Any]) -> str:
    """Figure that is the value of a block, such as `run.plot()`, without pyplot."""
    last = names["example_globals"].get("___")  # of this block, or of one before
    if not isinstance(last, Figure) or last in SHOWN:
        return ""
    SHOWN.add(last)
    path = next(names["image_path_iterator"])
    last.savefig(path, dpi=100)
    return figure_rst([path], settings["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": place,
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),  # else what matplotlib returns would be printed
    "image_scrapers": ("matplotlib", figure_of),
    "doc_module": ("meanfield",),
    "reference_url": {"meanfield": None},  # names in examples lead to the API
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
}


def setup(app: Any) -> None:
    """Formulas are MathML; docstrings pass `plain_formulas` before napoleon reads them."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-process-docstring", plain_formulas, priority=400)
    app.connect("source-read", write_tables)
    app.connect("builder-inited", make_gallery)


def write_tables(app: Any, page: str, source: list[str]) -> None:
    """Replace comments `keys: SECTION` and `options: COMMAND` by tables."""
    for word, table in (("keys", key_table), ("options", option_table)):
        comment = re.compile(rf"<!-- {word}: (\S+) -->")
        source[0] = comment.sub(lambda found, table=table: table(found[1]), source[0])


def make_gallery(app: Any) -> None:
    """Make the short form of published figures without a page; `make gallery` makes them whole."""
    folder = Path(app.srcdir) / "gallery"
    sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
    from published import ENTRIES

    missing = [name for name in ENTRIES if not (folder / f"{name}.md").exists()]
    if not missing and (folder / "index.md").exists():
        return
    options = ["--short", "--index", "--overwrite", "--quiet", "-o", str(folder)]
    with redirect_stdout(io.StringIO()) as tables:
        status = command(["reproduce", *missing, *options])
    if status:
        raise ExtensionError(
            f"figures of the gallery end with status {status}:\n{tables.getvalue()}"
        )


def inline_formula(writer: Any, node: nodes.math) -> None:
    """Write a formula within text."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def displayed_formula(writer: Any, node: nodes.math_block) -> None:
    r"""Write a formula that stands by itself, with the number of its \tag at the right."""
    formula, _, number = node.astext().partition(r"\tag{")
    number, _, rest = number.partition("}")
    writer.body.append('<div class="math" style="display: flex; align-items: center">')
    writer.body.append(
        f'<div style="flex: 1; overflow-x: auto">{mathml(formula + rest, "block")}</div>'
    )
    writer.body.append(f"<div>({number})</div></div>" if number else "</div>")
    raise nodes.SkipNode


def mathml(formula: str, display: str) -> str:
    """LaTeX as MathML; an unknown command is an error, for the page would show it as it is."""
    # With braces it is a letter of its own, without them an attribute that browsers ignore.
    formula = re.sub(r"\\(mathbb|mathcal) ?(\w)\b", r"\\\1{\2}", formula)
    formula = re.sub(r"\\arg\b", r"\\operatorname{arg}", formula)
    converted = convert(formula, display=display)
    if (unknown := re.search(r">(\\[^<]*)<", converted)) is not None:
        raise ValueError(f"{unknown[1]} in {formula!r} is not known to latex2mathml.")
    return converted


def plain_formulas(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Make literal blocks of indented formulas, and keep |beta| from being a substitution.

    A formula in a docstring is an indented block after a blank line. reStructuredText would take
    that for a quotation.
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
