"""Sections [[heads]] and the key normalization: what they build, and every mistake in its line."""

import re
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from parameters import refused, together

import meanfield as mf
from meanfield.carriers import Options
from meanfield.runfile import ConfigError, load_config
from meanfield.runfile.matrices import attention_of
from meanfield.runfile.written import written

TEXT = """\
problem = { normalization = "none", manifold = "circle", beta = 2.0 }
initial = { modes = [[1, 0.1, 0.0]] }
time = { end = 0.5, save = 2 }
"""
SCORE, VALUE = [[0.9, -0.4], [0.7, 0.5]], [[0.8, 0.3], [-0.6, 1.1]]
LAW = mf.perturbed_uniform([[1, 0.1, 0.0]])


@pytest.fixture
def path(path):
    """Name of a run file beside arrays, in the folder of the test."""
    np.save("score.npy", SCORE)
    np.savez("w.npz", value=np.array(VALUE, np.float32), number=-1.0, cube=np.zeros((2, 2, 2)))
    np.savez("odd.npz", words=["a"], nan=[np.nan, 1.0], large=np.zeros((2**16, 3)))
    np.save("pickled.npy", np.array([{}, 1], object), allow_pickle=True)
    Path("text.npz").write_text("no archive")
    return path


def load(path, text, *overrides):
    path.write_text(TEXT + text)
    return load_config(path, overrides)


def expected(*heads, **options):
    return mf.Problem(mf.Circle(), mf.Attention(heads, beta=2.0, **options), initial=LAW)


def test_every_form_of_a_matrix_is_the_attention_that_python_builds(path):
    """A run would have other matrices than those that its file says."""
    text = """
[[heads]]
score = "score.npy"
value = "w.npz:value"
[[heads]]
query = [[1, 2], [0.5, -1], [0, 3]]
key = [[1, 0], [0, 1], [1, 1]]
value = "w.npz:number"
beta = 3
[[heads]]
query = [1.0, 0.5]
"""
    values = ["problem.normalization=softmax", "problem.strength=-2", "problem.diffusivity=0.5"]
    config = load(path, text, *values)
    assert config.problem == expected(
        mf.Head(score=SCORE, value=np.array(VALUE, np.float32)),
        mf.Head([[1, 2], [0.5, -1], [0, 3]], [[1, 0], [0, 1], [1, 1]], -1.0, beta=3.0),
        mf.Head(query=[1.0, 0.5]),
        strength=-2.0,
        diffusivity=0.5,
    )
    assert sorted(map(str, config.inputs)) == ["run.toml", "score.npy", "w.npz"]


def test_one_head_of_numbers_is_a_kernel_and_a_flow(path):
    """The fast paths of kernels would be lost on the run files that need them least."""
    problem = load(path, "[[heads]]\nquery = 2\nvalue = -0.5\n", "problem.strength=3").problem
    assert (problem.kernel, problem.flow) == (mf.exponential(4.0), mf.Flow("none", strength=-1.5))


def test_matrices_of_files_are_preserved_in_the_run_file(path, stored):
    """A result would not know its problem once the files of its matrices are gone."""
    config = load(path, '[[heads]]\nscore = "score.npy"\nvalue = "w.npz:value"\n')
    for file in ("score.npy", "w.npz"):
        Path(file).unlink()
    assert stored(config.text) == config.problem
    # A file of somebody else names files of ours: none is read.
    Path("again.npy").write_bytes(b"")
    foreign = config.text.replace("[problem]", '[[heads]]\nvalue="again.npy"\n[problem]', 1)
    attributes = {"heads": 2, "manifold": "circle", "kernel": "exponential"}
    refused("has 2 heads, of which its file does not hold", stored, foreign, **attributes)


@pytest.mark.parametrize(
    ("attention", "keys"),
    [
        (mf.Attention([mf.Head(score=SCORE, value=VALUE), mf.Head(beta=3.0)], beta=2.0), {"beta"}),
        (mf.Attention([mf.Head([1, 2], VALUE, beta=1.5)], "none", strength=-2.0), set()),
        (mf.Attention(normalization="sinkhorn", beta=4.0, diffusivity=0.1), {"beta"}),
        (mf.Attention([mf.Head(query=2.0, value=-1.0)], beta=2.0), {"beta"}),
    ],
)
def test_problem_of_python_is_read_again_from_what_is_written(path, attention, keys):
    """Files of runs made in Python would tell of another problem, or of none."""
    problem = mf.Problem(mf.Circle(), attention, initial=LAW)
    tables = written(problem, Options(), {"end": 1.0})
    path.write_text(tomli_w.dumps(tables))
    assert load_config(path).problem == problem
    assert {"beta"} & set(tables["problem"]) == keys


def test_normalization_wins_over_what_the_file_says(path):
    """To try Sinkhorn on a run file one would have to edit it."""
    text = TEXT.replace('normalization = "none"', "normalized = true")
    path.write_text(text)
    problem = load_config(path, ["problem.normalization=sinkhorn"]).problem
    assert problem == expected(mf.Head(), normalization="sinkhorn")
    sections = {"problem": {"normalization": "none"}}
    assert load_config(path, sections=sections).problem.flow == mf.USA
    path.write_text(text.replace("normalized = true", 'normalization = "sinkhorn"'))
    assert load_config(path, ["problem.normalized=true"]).problem.flow == mf.SA


HEADS = "[[heads]]\n[[heads]]\n"
# Keys of the second head, and what is said of them.
MISTAKES = [
    ("valu = 1", "'valu' is not a key of this section. Did you mean value?"),
    ("value = true", "value = true must be a number, a list of numbers, a "),
    ("value = []", "value = [] must be a number, a list of numbers, a list"),
    ("value = [[1, 2], 3]", "value = [[1, 2], 3] must be a number"),
    ("key = [[1, 2], [3]]", "key = [[1, 2], [3]] has rows of 1 and 2 numbers, expected rows of eq"),
    ("key = [[1, 2], [3, nan]]", "key = [[1, 2], [3, nan]] holds nan, which must be a finite nu"),
    ("value = 1e9", "value holds 1e+09, expected finite numbers up to 1e+08"),
    ("value = [1, 2, 3]", "value has 3 numbers on its diagonal, expected 2."),
    ("score = [[1, 2]]", "score has shape (1, 2), expected (2, 2) for tokens in R^2."),
    ("query = [[1, 2]]", "query has 1 rows and key 2, expected as many"),
    ("score = 1\nkey = 1", "has both score and key: score is Q^T K itself, give one of them."),
    ("beta = 'x'", 'beta = "x" must be a number.'),
    ("beta = 1e8\nquery = 3", "scores up to beta |B| = 3e+08 of two tokens, expected at most 1e+"),
    ('value = "w.txt"', 'value = "w.txt" must be a number, a list of num'),
    ('value = "no.npy"', 'value = "no.npy": no such file.'),
    ('value = "no.npz:a"', 'value = "no.npz:a": no such file.'),
    (
        'value = "w.npz:valu"',
        'value = "w.npz:valu" names no array of the file. Did you mean value?',
    ),
    ('value = "w.npz"', 'value = "w.npz" names no array of the file. Known: cube, number, value'),
    ('value = "w.npz:cube"', 'value = "w.npz:cube" has shape (2, 2, 2), expected (), (d,) or'),
    ('value = "odd.npz:words"', 'value = "odd.npz:words" holds <U1 of shape (1,), expected real'),
    ('value = "odd.npz:nan"', 'value = "odd.npz:nan" holds nan, expected finite numbers.'),
    ('query = "odd.npz:large"', 'query = "odd.npz:large" has shape (65536, 3), expected at most 1'),
    ('value = "pickled.npy"', 'value = "pickled.npy" is no readable .npy file of numbers: Obj'),
    ('value = "text.npz:a"', 'value = "text.npz:a" is no .npz file: expected what np.savez('),
]


@together(("keys", "message"), MISTAKES)
def test_mistake_in_a_head_has_its_line(path, keys, message, has_its_line):
    """Other matrices would be computed with, or the user would not learn which are wrong."""
    path.write_text(TEXT + HEADS + keys)
    has_its_line(path, (), f"[[heads]] 2 {message}")


@pytest.mark.parametrize(("override", "message"), [
    ("heads=[]", "[[heads]] is empty: without it there is one head, Q = K = V = 1."),
    ("heads=3", "[[heads]] must be a list of tables, got 3."),
    ("heads={value=1}", "[[heads]] is a list of tables: write [[heads]] above each, not"),
    ("heads=[1]", "[[heads]] 1 must be a table, got 1."),
    ("problem.kernel=linear", '[problem] [[heads]] need kernel = "exponential", got "linear".'),
    ('problem={manifold="circle"}', "[[heads]] 2 beta is missing: give it here or in [problem]."),
    ('problem={manifold="circle", normalized=true, normalization="none"}',
     '[problem] normalized = true is normalization = "softmax", beside normalization = "no'),
    ("problem.normalization=usa", '[problem] normalization = "usa" is not known. Known: none,'),
    ("heads.value=3", '"heads.value=3": [[heads]] are set as a whole, as --set \'heads=[{val'),
    ("output.path=score.npy", 'path = "score.npy" is read by this run'),
    ("time.unit=growth", "[time] heads move uniform itself, |v| up to "),
])  # fmt: skip
def test_mistake_beside_heads_has_its_line(path, override, message):
    """Heads would be left out of account in silence."""
    heads = '[[heads]]\nbeta = 1.0\n[[heads]]\nscore = "score.npy"\n'
    refused(re.escape(message), load, path, heads, override, error=ConfigError)


@pytest.mark.parametrize("kernel", ["kernel = 'linear'", "kernel = 'zonal', multipliers = [1]"])
def test_sinkhorn_needs_the_exponential_kernel(path, kernel, has_its_line):
    """Something else than what was asked for would be normalised."""
    path.write_text(TEXT.replace('"none"', f"'sinkhorn', {kernel}"))
    has_its_line(path, (), '[problem] normalization = "sinkhorn" needs kernel')


def test_heads_beside_a_kernel_in_python_are_refused_by_a_check(path):
    """`meanfield check`, which executes nothing, would call valid what cannot run."""
    Path("k.py").write_text("f = None\n")
    path.write_text(TEXT.replace("beta", "kernel = 'zonal', attention = 'k.py:f', beta") + HEADS)
    refused(r"\[\[heads\]\] need kernel", load_config, path, error=ConfigError, code="later")


@together("wrong", [None, True, "x", 1j * np.eye(2), [["1", "2"], ["3", "4"]]])
def test_head_refuses_what_are_no_real_numbers(wrong):
    """Complex matrices would lose their imaginary part, None would fail far from here."""
    message = "value must be a real number, a diagonal or rows of equal"
    refused(message, mf.Head, value=wrong, error=TypeError)


def test_too_many_heads_are_refused_at_once(path):
    """Each would be built and checked: `check` says nothing for a minute for 100,000."""
    message = "10001 heads, expected at most 10000"
    text = "[[heads]]\n" * 10_001
    refused(rf"\[\[heads\]\]: {message}", load, path, text, error=ConfigError)
    heads = (mf.Head(),) * 10_001
    refused(f"an attention has {message}", mf.Attention, heads, beta=1.0)


def test_matrices_of_many_heads_are_checked_at_once(monkeypatch):
    """A decomposition of each alone, again at every question, takes minutes for 100,000 heads."""
    calls, norm = [], np.linalg.norm

    def counted(*arguments, **options):
        calls.append(arguments)
        return norm(*arguments, **options)

    monkeypatch.setattr(np.linalg, "norm", counted)
    heads = [{"score": [[1.0, 0.01 * number], [0.0, 1.0]]} for number in range(300)]
    attention = attention_of("[[heads]]", heads, 2, "softmax", 4.0)
    problem = mf.Problem(mf.Circle(), attention)
    assert problem.beta == attention.matrices(2)[-1].sharpness
    assert problem.isotropic_bound.heads[7] == (attention.matrices(2)[7].sharpness, 1.0)
    # Scores and values, and the two heads of the comparisons.
    assert len(calls) == 4
