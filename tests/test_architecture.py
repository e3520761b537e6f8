"""The house: imports point downwards only, without circles, and names are listed."""

import ast
import pkgutil
import re
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import pytest
from fresh_process import run_python
from parameters import refused

import meanfield
from meanfield.names import HOMES, MAKERS, TOPICS

PACKAGE = Path(meanfield.__file__).parent
# From the ground up; modules of one line may import each other.
FLOORS = [
    "arguments arrays engines errors events files names progress renamed status version",
    "described",
    "bases schemes terms",
    "labels",
    "spaces",
    "measures spectrum.isotropic",
    "laws",
    "problem stages",
    "fields",
    "observables spectrum",
    "carriers",
    "problem_facts snapshot",
    "runs trajectory",
    "simulation",  # the core ends here: it imports no wing
    "stationary transport",
    "finite",
    "models",
    "papers",
    "certificates",
    "studies",
    "papers.hardmax_paths papers.merging papers.optimal papers.pair_correlation_study",
    "figures.data",
    "figures results store verification",
    "runfile",
    "recording",
    "api",
    "studies.complete studies.sweep_plan studies.sweeps",
    "commands explore",
    "__main__",
]
FLOOR = {name: level for level, names in enumerate(FLOORS) for name in names.split()}
FILES = sorted(PACKAGE.rglob("*.py"))
Graph = dict[str, set[str]]


def floor(name: str) -> int:
    """Floor of a module; the package itself lists everything: the highest use it as scripts do."""
    words = name.split(".")[1:3] or ["commands"]
    return FLOOR.get(".".join(words), FLOOR[words[0]])


def imported(name: str, source: str, expected: set[str]) -> set[str]:
    """Modules that another one imports at any time, also in functions, but not for types alone."""
    words: list[str] = []
    nodes: list[ast.AST] = [ast.parse(source)]
    while nodes:
        node = nodes.pop()
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            children = [*node.orelse]
        elif isinstance(node, ast.Import):
            words += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}: imports say the whole name"
            words += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = ast.unparse(node.args[0]).replace("{__name__}", name)
            words += [word.rstrip(".") for word in re.findall(r"^f?'([\w.]*)", text)]
        nodes += children
    # A name in a module is imported from that.
    result = {word if word in expected else word.rpartition(".")[0] for word in words}
    return (result & expected) - {name}


def imports(sources: dict[str, str]) -> Graph:
    return {name: imported(name, text, set(sources)) for name, text in sources.items()}


def upwards(graph: Graph) -> list[str]:
    return [
        f"{name} imports {other}, which stands above it"
        for name, others in graph.items()
        for other in sorted(others)
        if floor(other) > floor(name)
    ]


def circles(graph: Graph) -> list[str]:
    """A circle of imports, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" -> ".join(error.args[1][::-1])]
    return []


@pytest.mark.slow
def test_imports_point_downwards_without_circles():
    """An import from a higher floor, or in a circle, would let data flow back."""
    sources = {}
    for path in FILES:
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        sources[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    graph = imports(sources)
    wrong = upwards(graph) + circles(graph)
    assert not wrong, "\n".join(wrong)


def test_imports_that_hide_are_detected():
    """An import in a function, or by a string, would lead upwards unseen; one for types may."""
    hidden = "def f():\n    from meanfield.{} import x\n"
    graph = imports(
        {
            "meanfield.runs": hidden.format("figures.draw"),
            "meanfield.figures.draw": "import meanfield.figures.style",
            "meanfield.figures.style": hidden.format("figures.draw"),
            "meanfield.store.bounds": "import_module(f'meanfield.commands.{name}')",
            "meanfield.commands": "if TYPE_CHECKING:\n    import meanfield.runs",
        }
    )
    above = ["runs imports meanfield.figures.draw", "store.bounds imports meanfield.commands"]
    assert upwards(graph) == [f"meanfield.{text}, which stands above it" for text in above]
    (circle,) = circles(graph)
    assert set(circle.split(" -> ")) == {"meanfield.figures.draw", "meanfield.figures.style"}


def test_design_page_names_the_rooms():
    """The map of the house would lack a room, or have one that was torn down."""
    text = (PACKAGE.parent / "docs" / "design.md").read_text(encoding="utf-8")
    section = text.split("## Rooms")[1].split("\n## ")[0]
    named = {name.removesuffix(".py") for name in re.findall(r"`([a-z_]+(?:\.py)?)`", section)}
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= named <= FLOOR.keys()


def test_public_names_are_listed():
    """A public name that is not listed, or listed and missing, would surprise its users."""
    assert sorted(HOMES) == sorted(meanfield.__all__)
    assert all(hasattr(meanfield, name) for name in meanfield.__all__)


def test_what_results_ask_for_is_there():
    """`.plot()` of a result would fail, or depend on what was imported before."""
    text = "".join(path.read_text("utf-8") for path in FILES)
    calls = re.findall(r'(?:VIEWS\[|    plot = plot_method\(\s*)"(\w+)\.(\w+)"', text)
    results = re.findall(r"^class (\w+)\((?:ResultBase|StudyResult)\):\n(?!.*Base of)", text, re.M)
    calls += [(name, "report") for name in results]
    # Results that have drawings in notebooks beside their report.
    calls += [(name, "html") for name in results if f"{name}.html" in MAKERS]
    assert sorted(".".join(words) for words in calls) == sorted(MAKERS)
    for place in MAKERS.values():
        home, name = place.split(":")
        assert callable(getattr(import_module(f"meanfield.{home}"), name))
    code = "from meanfield.names import VIEWS\nassert 'Run.plot' in VIEWS"
    assert not loaded(code) & {"numpy", "matplotlib", "meanfield.store"}


def test_type_checkers_see_the_names_where_they_are():
    """An editor would complete other names than there are, or with other arguments."""
    tree = ast.parse(Path(meanfield.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    statements = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in statements for alias in node.names}
    assert homes == {name: f"meanfield.{module}" for name, module in HOMES.items()}
    (listed,) = (node.value for node in tree.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(listed) == sorted(HOMES)


def test_every_test_has_a_line():
    """A test that fails would not say what is wrong."""
    for path in Path(__file__).parent.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
            assert not is_test or ast.get_docstring(node), f"{path}: {node.name}"


def loaded(code: str) -> set[str]:
    """Names of the modules that a fresh process has loaded after some code."""
    done = run_python(f"import sys\n{code}\nprint('loaded', *sys.modules)")
    return set(done.stdout.splitlines()[-1].split())


def test_import_loads_nothing_but_lists_everything():
    """`import meanfield` would take as long as its first use, or hide names from completion."""
    code = "import meanfield as mf\nassert {'simulate', 'papers', '__version__'} <= {*dir(mf)}"
    assert not loaded(code) & {"numpy", "scipy", "numba", "meanfield.problem"}


def test_first_names_are_few_and_there():
    """Completion would offer a hundred names to who needs ten, or one that is not there."""
    listed = {*dir(meanfield)} - {"__version__"}
    assert listed - {*TOPICS} < {*meanfield.__all__}
    assert 50 <= len(listed) <= 65


@pytest.mark.slow
def test_topics_open_at_first_use():
    """`mf.papers` would be there only after something else had imported it."""
    code = (
        "import meanfield as mf\n"
        "for topic in mf.names.TOPICS: assert dir(getattr(mf, topic)), topic\n"
        "assert mf.papers.polygon_lifetime is mf.polygon_lifetime\n"
        "assert mf.papers.hardmax.__name__ == 'meanfield.papers.hardmax'\n"
        "assert mf.finite.gradient is mf.gradient and mf.stationary.primary_branch\n"
        "assert mf.certificates.action_bound is mf.action_bound and mf.transport.wasserstein\n"
        "assert callable(mf.fluctuations) and 'hardmax' in dir(mf.papers)"
    )
    assert "meanfield.papers.hardmax" in loaded(code)
    code = "import meanfield as mf\nmf.papers, mf.finite, mf.certificates"
    assert not loaded(code) & {"numpy", "numba"}


@pytest.mark.parametrize("topic", ["papers", "finite", "certificates"])
def test_topics_refuse_what_they_lack(topic):
    """A name that is misspelt would be an import error of somewhere else."""
    message = f"module 'meanfield.{topic}' has no attribute 'nonsense'"
    refused(message, getattr, getattr(meanfield, topic), "nonsense", error=AttributeError)


def test_names_are_not_modules():
    """A function would be the module of its name, depending on what was loaded before."""
    modules = {module.name for module in pkgutil.iter_modules(meanfield.__path__)}
    assert "problem" in modules and modules.isdisjoint(meanfield.__all__)


@pytest.mark.slow
def test_all_names_load_nothing_heavy():
    """The first line of a script would wait for what only some functions need."""
    heavy = {
        "numba", "h5py", "matplotlib", "scipy.integrate", "scipy.special", "scipy.fft", "ducc0",
        "pyshtools", "ot", "tqdm", "xarray", "distributed",
    }  # fmt: skip
    assert not loaded("from meanfield import *") & heavy


@pytest.mark.slow
def test_kernels_are_compiled_without_flags_for_the_arithmetic():
    """Each copy of a kernel would be contracted or reordered in its own way, in its own process."""
    flags = {"fastmath", "contract", "reassoc", "fast"}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.arg if isinstance(node, ast.keyword) else getattr(node, "value", None)
            assert not (isinstance(name, str) and name in flags), f"{path}: {name}"


@pytest.mark.slow
def test_bounds_of_arrays_say_what_they_allow():
    """A bound of 1e-14 would allow 1e-7, the relative error that NumPy allows beside it."""
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "").endswith("allclose"):
                given = {keyword.arg for keyword in node.keywords}
                assert "atol" not in given or given & {"rtol", None}, f"{path}: {node.lineno}"


def test_theory_asks_one_object_what_is_zonal():
    """Matrices would break theory in forty places, and not with one line of why."""
    # Studies of papers evolve problems; `isotropic` is that object.
    others = {PACKAGE / "spectrum/isotropic.py", PACKAGE / "papers/pair_correlation_study.py"}
    for room in ("papers", "spectrum", "stationary"):
        for path in {*PACKAGE.glob(f"{room}/*.py")} - others:
            text = re.sub(r"replace\(problem\.flow,", "", path.read_text(encoding="utf-8"))
            picked = re.findall(r"problem\.(?:flow|kernel|kernel_degree|has_free_energy)\b", text)
            assert not picked, (path, picked)


def test_package_works_from_an_archive(tmp_path):
    """Freezers and zipped installations would fail at import."""
    archive = tmp_path / "a.zip"
    with ZipFile(archive, "w") as files:
        for path in [*PACKAGE.glob("*.py"), *PACKAGE.glob("*.pyi"), *PACKAGE.glob("[bcs]*/*.py")]:
            files.write(path, path.relative_to(PACKAGE.parent))
    code = f"import sys; sys.path.insert(0, {str(archive)!r})\n"
    code += "import meanfield; print(meanfield.SimulationError, meanfield.__file__)"
    assert str(archive) in run_python(code).stdout
