"""Changes by --set in a document, and where messages point if it cannot."""

import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.document import override

SECTIONS = {"s": ["k", "other"], "problem": ["beta"], "output": ["path"]}


@together(
    ("argument", "expected"),
    [
        ("s.k=2", 2),
        (" s . k = 2.5", 2.5),
        ("s.k=[1, 2]", [1, 2]),
        ('s.k="x"', "x"),
        ("s.k=x", "x"),
        ("s.k=a=b", "a=b"),
        ("s.k=true", True),
        ("s.k=1\nother = 2", "1\nother = 2"),
        ("s.k=[1", "[1"),
        ("s.k=" + "[" * 5000, "[" * 5000),
    ],
)
def test_override_takes_toml_or_a_string(argument, expected):
    """--set would set another value than the user typed."""
    tables = {"s": {"k": 0, "other": 1}}
    override(tables, [argument], SECTIONS)
    assert tables == {"s": {"k": expected, "other": 1}}


def test_overrides_make_and_take_out_what_the_file_says():
    """--set could not add what the file leaves out, nor go back to a default."""
    tables = {}
    override(tables, ["output.path=x.h5", "title=My run"], SECTIONS)
    assert tables == {"output": {"path": "x.h5"}, "title": "My run"}
    tables = {"title": "x", "s": {"k": 1, "other": 2}, "output": {"path": "x.h5"}}
    override(tables, ["s.k=", "output=", "title="], SECTIONS)
    assert tables == {"s": {"other": 2}}


@together(
    ("argument", "message"),
    [
        *[
            (argument, r"--set .* must be SECTION\.KEY=VALUE")
            for argument in ("s", "s.k", "=1", ".k=1", "s.=1", "s.k.l=1", "")
        ],
        ("title.k=1", "title is not a section"),
        ("title=\udcff", "not text in UTF-8"),
        ("beta=10", r'"beta=10" needs SECTION.KEY=VALUE. Did you mean problem.beta\?$'),
        ("betta=10", r"Did you mean problem.beta\?$"),
        ("nonsense=10", r"needs SECTION.KEY=VALUE. Known: output, problem, s\.$"),
        ("probelm={beta=1}", r"needs SECTION.KEY=VALUE. Did you mean problem\? Known: output, pr"),
        ("probelm.beta=10", r"\[probelm\] is not a known section. Did you mean problem\? Known: "),
        ("problem.bta=10", r"bta is not a key of \[problem\]. Did you mean problem.beta\?$"),
        ("problem.path=x.h5", r"path is not a key of \[problem\]. Did you mean output.path\?$"),
        ("problem.zzz=1", r"zzz is not a key of \[problem\]. Known: beta\.$"),
    ],
)
def test_mistake_points_at_the_right_key(argument, message):
    """A slip in --set would be ignored, or the message name the wrong section."""
    refused(message, override, {"title": "x"}, [argument], SECTIONS, error=ConfigError)


@pytest.mark.parametrize(
    ("overrides", "law"),
    [
        (["initial.name=sampled", "initial.tokens=9"], {"name": "sampled", "tokens": 9}),
        (["initial.tokens=9", "initial.name=sampled"], {"name": "sampled", "tokens": 9}),
        (['initial={name="sampled", tokens=9}'], {"name": "sampled", "tokens": 9}),
        (["initial.modes=[]"], {"name": "perturbed_uniform", "modes": []}),
        (["initial.name=uniform"], {"name": "uniform"}),
    ],
)
def test_another_law_replaces_the_law_of_the_file(path, overrides, law):
    """The keys of the file's law would be refused."""
    assert load_config(path, overrides).tables["initial"] == law


def test_an_override_of_beta_is_refused_for_the_linear_kernel(path, tmp_path):
    """A sweep over beta would make equal runs that it labels by different betas."""
    # The file keeps its beta: earlier versions wrote it into results.
    assert load_config(path, ["problem.kernel=linear"]).tables["problem"]["beta"] != 0.0
    linear = ["problem.kernel=linear", "problem.beta="]
    assert load_config(path, [*linear, "problem.beta=0"]).problem.beta == 0.0
    message = r'kernel = "linear" has no beta, got an override with beta = 2: leave it out, or take'
    refused(message, load_config, path, [*linear, "problem.beta=2"], error=ConfigError)
    refused(message, mf.run, path, problem={"kernel": "linear", "beta": 2})
    kuramoto, betas = mf.Problem(mf.Circle(), mf.linear(), mf.USA), {"problem.beta": [0, 2]}
    refused(message, mf.sweep, kuramoto, betas, folder=tmp_path / "x", time={"end": 1.0})
