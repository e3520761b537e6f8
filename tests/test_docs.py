"""The documentation says what the code does: keys, options, dependencies, equations."""

import argparse
import importlib
import json
import re
import sys
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from reporting import load_script

import meanfield as mf
from meanfield.commands.arguments import COMMANDS, option_table, parser
from meanfield.commands.info import provenance_report
from meanfield.commands.main import main
from meanfield.commands.stability import analysis, heads_of, spectrum
from meanfield.figures.draw import PLOTS
from meanfield.results.study_reports import comparison_report, ensemble_report
from meanfield.results.theory_reports import prediction_report
from meanfield.runfile import sections
from meanfield.runfile.schema import run_file_keys
from meanfield.store.study_file import STUDY_COMMANDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def page(name: str) -> str:
    return text_of(DOCS / name)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def section(name: str, heading: str) -> str:
    """Text of a page below a heading, up to the next one."""
    match = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^##+ |\Z)", page(name), re.M | re.S)
    assert match, f"docs/{name} has no section {heading}"
    return match.group(1)


def keys_in(text: str) -> set[str]:
    """First cells of the tables in a text that begin with a `key`."""
    return set(re.findall(r"^\| `(.*?)` \|", text, re.M))


def test_run_file_page_has_the_keys_of_every_section():
    """A user would look in vain for a section, or read keys of another one."""
    for name, keys in run_file_keys().items():
        brackets = f"[[{name}]]" if name in ("heads", "random_heads", "stages") else f"[{name}]"
        law = name.partition(".")[2]
        heading = f'`[initial]` with `name = "{law}"`' if law else f"`{brackets}`"
        assert (f"<!-- keys: {name} -->" in section("run-file.md", heading)) == bool(keys), name


def test_run_file_page_names_every_initial_law():
    """A law would be in the program and not in the list."""
    listed = {name.strip('"') for name in keys_in(section("run-file.md", "`[initial]`"))}
    assert listed == set(sections.INITIAL)


def test_commands_page_has_the_options_of_every_command():
    """A command would be missing from the reference, or have the options of another one."""
    for command in COMMANDS:
        assert f"<!-- options: {command} -->" in section("commands.md", f"`meanfield {command}`")


def test_table_of_a_command_has_every_option():
    """An option would exist that the reference does not know, or the reverse."""
    (commands,) = (each for each in parser()._actions if isinstance(each.choices, dict))
    for command, subparser in commands.choices.items():
        text = option_table(command)
        expected = {option for action in subparser._actions for option in action.option_strings}
        rows = "".join(line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `"))
        assert set(re.findall(r"`(--?[\w-]+)", rows)) == expected - {"-h", "--help"}, command
        usage = re.findall(r"--[a-z][\w-]*", text.split("\n\n")[0])
        # The usage has -o in place of --output.
        others = {"--output"} if "-o" in expected else set()
        long = {option for option in expected if option.startswith("--")}
        assert long - others - {"--help"} <= set(usage), command


def json_keys(command: str) -> set[str]:
    cells = re.findall(r"^\| (`.*?) \|", section("commands.md", f"`meanfield {command}`"), re.M)
    named = {key for cell in cells for key in cell.split("`")[1::2]}
    return {key for key in named if not key.startswith("-")}


PROBLEM = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA)
HEADS = mf.Attention([mf.Head(value=[1.0, 2.0])], beta=2.0)


def predicted(tokens: Any, strength: float) -> dict[str, Any]:
    """Report of `predict`."""
    problem = replace(PROBLEM, flow=mf.Flow("none", strength=strength))
    prediction = mf.predict_clusters(problem, tokens, samples=2, corrected=False)
    return prediction_report(prediction).data


def compared() -> dict[str, Any]:
    """Report of `compare`."""
    study = mf.convergence_study(PROBLEM, 1.0, save=2, tokens=(2, 3), runs=2)
    return comparison_report(study, "study.h5").data


@pytest.mark.parametrize("command, promised", [
    ("stability", lambda: analysis(PROBLEM, tokens=10) | spectrum(PROBLEM, None)
     | heads_of(mf.Problem(mf.Circle(), HEADS))),
    ("compare", compared),
    ("ensemble", lambda: ensemble_report(mf.ensemble(PROBLEM, tokens=10, runs=1), "made.h5").data),
    ("predict", lambda: predicted(np.array([0.0, 3.0]), 1.0) | predicted(10, -1.0)),
    ("info", lambda: provenance_report({}, "").data),
])  # fmt: skip
def test_commands_page_has_the_keys_of_json(command, promised):
    """A script would look for a key that is not there."""
    assert json_keys(command) == set(promised())


@pytest.mark.parametrize("kind", ["comparison", "ensemble"])
def test_file_format_page_names_provenance_of_studies(kind, tmp_path):
    """A reader of files would find an attribute that nothing explains."""
    (tmp_path / "x.toml").write_text(
        'problem = { manifold = "circle", beta = 2.0, normalization = "none" }\n'
        "time = { end = 1.0, save = 2 }\n"
        "compare = { tokens = [5, 8], runs = 2 }\n"
        "ensemble = { tokens = [5], runs = 1 }\n"
    )
    command = STUDY_COMMANDS[kind]  # type: ignore[index]
    options = ["--quiet", "--workers", "1", "-o", str(tmp_path / "x.h5")]
    assert main([command, str(tmp_path / "x.toml"), *options]) == 0
    words = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`(.*?)`", page("file-format.md")))))
    with h5py.File(tmp_path / "x.h5") as file:
        assert "result_hash" in file.attrs and set(file.attrs) <= words


@pytest.mark.parametrize(
    "law", ['name = "uniform"', 'name = "atoms"\nangles = [0, 3]\nweights = [0.3, 0.7]']
)
def test_file_format_page_names_everything_in_a_run_file(law, tmp_path, monkeypatch):
    """A reader of files would find a dataset or an attribute that nothing explains."""
    (tmp_path / "run.toml").write_text(
        'problem = { manifold = "circle", beta = 2.0, normalization = "none" }\n'
        f"time = {{ end = 1.0, save = 2 }}\n[initial]\n{law}\n"
    )
    monkeypatch.setattr("meanfield.commands.main.listen", ExitStack)
    assert main(["run", str(tmp_path / "run.toml"), "--quiet"]) == 0
    explained = page("file-format.md").split("## Comparison file")[0]
    words = " ".join(re.findall(r"`(.*?)`", explained)).replace("/", " ").split()
    with h5py.File(tmp_path / "run.h5") as file:
        names = set(file.attrs)
        file.visit(lambda name: names.update(name.split("/")))
    assert names <= {word.strip(",") for word in words}


def test_commands_page_lists_the_figures():
    """A kind of figure would be missing from the reference."""
    text = section("commands.md", "`meanfield plot`")
    for name, kind in PLOTS.items():
        assert re.search(rf"^ *{name} +{re.escape(kind.title)}$", text, re.M), name


def test_design_page_has_every_dependency_and_no_other():
    """A dependency would come without its reason and licence."""
    required = [*PROJECT["dependencies"]]
    for name in ("xarray", "dask", "test", "docs", "benchmark", "lint", "browser", "notebook"):
        required += PROJECT["optional-dependencies"][name]
    names = {re.split(r"[^\w-]", one)[0] for one in required} - {PROJECT["name"]}
    assert keys_in(section("design.md", "Dependencies")) == names


def test_docstrings_refer_to_equations_that_exist():
    """A reader would follow a reference to nothing."""
    tags = {path.name: re.findall(r"\\tag\{(\d+)\}", text_of(path)) for path in DOCS.glob("*.md")}
    numbers = sorted(map(int, sum(tags.values(), [])))
    assert numbers == list(range(1, len(numbers) + 1))
    cited = r"docs/([\w-]+\.md)`*,?\s+eq\.\s*(\d+)(?:-(\d+))?"
    for path in (ROOT / "meanfield").rglob("*.py"):
        for name, first, last in re.findall(cited, text_of(path)):
            assert {first, last or first} <= set(tags[name]), path


@pytest.mark.parametrize("name", ["verification.md", "robustness.md"])
def test_tests_that_a_page_names_are_there(name):
    """A reader of a row would look for its test in vain."""
    named = re.findall(r"`(?:tests/)?((?:\w+/)+test_\w+\.py)", page(name))
    assert named
    assert not [path for path in named if not (DOCS.parent / "tests" / path).exists()]


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_pages_have_lines_of_at_most_120_characters(path):
    """A change of one word would be a change of a whole paragraph, hard to review."""
    text = re.sub(r"^```.*?^```$", "", text_of(path), flags=re.M | re.S)
    # A row of a table is one line, and so is an address.
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("|", "!["))]
    assert not [line for line in lines if len(line) > 120]


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))],
    ids=lambda path: path.name,
)  # fmt: skip
def test_links_lead_to_files_of_the_repository(path):
    """A reader on a code host would follow a link to a page or picture that is not there."""
    for link in re.findall(r"\]\(([\w./-]+\.[a-z]+)[#)]", text_of(path)):
        # The docs build makes both; those of the examples have their scripts beside these pages.
        if not link.startswith("auto_examples/"):
            assert "gallery/" not in link and (path.parent / link).exists(), link


def test_docs_make_only_the_figures_that_are_missing(tmp_path, monkeypatch):
    """Pages of `make gallery` would be replaced by short forms, or a page have no figure."""
    pytest.importorskip("latex2mathml")
    pytest.importorskip("sphinx_gallery")
    from published import ENTRIES

    conf, calls = load_script(DOCS / "conf.py"), []
    monkeypatch.setattr(conf, "command", lambda arguments: calls.append(arguments) or 0)
    monkeypatch.setattr("sys.path", [*sys.path])
    app = argparse.Namespace(srcdir=tmp_path)
    (tmp_path / "gallery").mkdir()
    for name in set(ENTRIES) - {"eigenvalues"}:
        (tmp_path / "gallery" / f"{name}.md").touch()
    conf.make_gallery(app)
    for name in ("eigenvalues", "index"):
        (tmp_path / "gallery" / f"{name}.md").touch()
    conf.make_gallery(app)
    (arguments,) = calls
    assert arguments[:3] == ["reproduce", "eigenvalues", "--short"] and "--index" in arguments
    (tmp_path / "gallery" / "pair-force.md").unlink()
    monkeypatch.setattr(conf, "command", lambda arguments: 1)
    with pytest.raises(conf.ExtensionError, match="figures of the gallery end with status 1"):
        conf.make_gallery(app)


def test_pages_name_files_that_exist():
    """A docstring or a page outside of docs/ would send a reader to a page that is gone."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("meanfield", "experiments"):
        paths += [path for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".md")]
    for path in paths:
        for name in re.findall(r"\bdocs/([\w-]+\.md)", text_of(path)):
            assert (DOCS / name).exists(), (path, name)


def test_api_pages_have_every_public_name():
    """A public name would have no documentation."""
    text = "\n".join(map(text_of, (DOCS / "api").glob("*.rst")))
    names = re.findall(r"^\.\. auto(?!module)\w+:: (\S+)\.(\w+)$", text, re.M)
    documented = [getattr(importlib.import_module(module), name) for module, name in names]
    for name in mf.__all__:
        result = getattr(mf, name)
        assert any(result is one for one in documented), f"docs/api/ lacks {name}"


def test_extending_page_lists_the_members_of_protocols():
    """A new member of a family would be written without what the package calls."""
    from meanfield.carriers import Representation
    from meanfield.fields.engines import Engines
    from meanfield.schemes import Stepper
    from meanfield.spaces import Basis, Geometry, Grid
    from meanfield.terms.fixed import Term

    def members(protocol: type) -> set[str]:
        names = {*dir(protocol), *getattr(protocol, "__annotations__", {})}
        return {name for name in names if not name.startswith("_")}

    # The first column of a protocol's table is what it demands, and no more.
    for protocol in (Geometry, Basis, Grid, Engines, Representation, Stepper, Term):
        text = page("extending.md").split(f"| Members of `{protocol.__name__}` |")[1]
        rows = re.findall(r"^\| (`.*?) \|", text.split("\n\n")[0], re.M)
        listed = re.findall(r"`(\w+)(?:\([^`]*\))?`", " ".join(rows))
        assert sorted(listed) == sorted(members(protocol)), protocol


def test_numerics_page_has_the_crossovers_of_the_code():
    """The page would give sizes at which another method has taken over since."""
    from meanfield.engines import fourier as circle_points
    from meanfield.fields.engines import direct_sum_limit

    text = page("numerics.md")
    limit = direct_sum_limit(mf.Circle(), 30)
    for value in (limit, circle_points._MOMENTS_BY_CELLS, circle_points._VALUES_BY_CELLS):
        assert re.search(rf"(?<![\d,]){value:,}(?![\d,])", text), value


def test_version_is_the_same_everywhere():
    """A release would cite or announce another version than it is."""
    version = mf.__version__
    assert PROJECT["version"] == version
    assert f"\nversion: {version}\n" in text_of(ROOT / "CITATION.cff")
    assert f"\n## [{version}]" in text_of(ROOT / "CHANGELOG.md")


def test_nobody_is_sent_to_another_project():
    """The name is taken on the public package index: its users would install something else."""
    files = [*DOCS.glob("*.md"), ROOT / "README.md", *(ROOT / "meanfield").rglob("*.py")]
    wrong = re.compile(r"pip install \S*meanfield")
    assert not [path for path in files if wrong.search(text_of(path))]
    assert PROJECT["name"] == "meanfield-attention"
    # Extras that bring others are the package's own, too.
    extras = " ".join(sum(PROJECT["optional-dependencies"].values(), []))
    assert {*re.findall(r"(\S*meanfield\S*)\[", extras)} == {PROJECT["name"]}
    for path in (ROOT / "README.md", DOCS / "getting-started.md"):
        assert PROJECT["name"] in text_of(path)


def test_notebook_is_the_tutorial_with_its_results():
    """The script would have moved on, or the notebook been committed without being run."""
    script = page("examples/plot_tutorial.py").split('\n"""\n', 1)[1]
    blocks = [re.sub(r"\A(#.*\n)+", "", block).strip() for block in script.split("\n# %%\n")]
    cells = [cell for cell in json.loads(page("tutorial.ipynb"))["cells"] if "outputs" in cell]
    # `make notebook` writes it again.
    assert ["".join(cell["source"]).strip() for cell in cells] == blocks
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert all(cell["outputs"] for cell in cells[2:]) and len(cells) > 10
    kinds = {output["output_type"] for output in outputs}
    assert kinds == {"display_data", "execute_result", "stream"}
    assert "stderr" not in {output.get("name") for output in outputs}
    assert sum("image/png" in output.get("data", {}) for output in outputs) > 3
    assert (DOCS / "tutorial.ipynb").stat().st_size < 400_000


def test_pages_load_nothing_from_the_network():
    """Without a network formulas would be raw LaTeX."""
    assert 'html_math_renderer = "mathml"' in page("conf.py") and "mathjax" not in page("conf.py")
