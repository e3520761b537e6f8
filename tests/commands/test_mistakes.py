"""Mistakes on command lines: one line and status 2, before anything is computed or written."""

import h5py
import numpy as np
import pytest

CONFIG = """\
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
time = { end = 2.0, save = 3 }
compare = { tokens = [5, 20], runs = 3 }
ensemble = { tokens = [20, 60], runs = 3 }
"""
PARTICLES = "--set representation.name=particles --set representation.tokens"
MISTAKES = {
    "run small.toml": [
        ("--set problem.beta=nine", '[problem] beta = "nine" must be a number'),
        ("--set time=", "[time] is missing"),
        ("--set time.save=[0,75]", "[time] save holds 75, later than end = 2"),
        ("--set initial.modes=[[1,2.0,0.0]]", "[initial] density is negative: -1 at 3.1416"),
        ("-o nodir/x.h5", "nodir/x.h5 cannot be written: its folder does not exist"),
        ("--set output.path=.", '[output] path = "." is a folder, expected a file'),
        (f"{PARTICLES}=9999999999", "[representation] 9999999999 tokens would take about"),
    ],
    "run small.toml --set fluctuations={degree=2}": [
        ("--set fluctuations.degree=0", "[fluctuations] degree must be at least 1, got 0."),
        ("--set fluctuations.degree=1000000000",
         "[fluctuations] the covariance of 2000000000 moments"),
        ("--set fluctuations.tokens=0", "[fluctuations] tokens must be at least 1, got 0."),
        ("--set fluctuations.max_degree=3", "[fluctuations] max_degree = 3 must be at least "),
        ("--set fluctuations.order=3", "order is not a key of [fluctuations]."),
        ("--set initial={name='atoms',angles=[0.0,1.0]}", "the initial law gives points"),
        ("--set problem.normalization=softmax --set problem.mask=causal",
         "not for masks and frequencies."),
    ],
    "check small.toml": [
        ("--set problem.beta=nine", '[problem] beta = "nine" must be a number'),
        (f"{PARTICLES}=9999999999", "[representation] 9999999999 tokens would take about"),
    ],
    "check own.toml": [
        ("--set time.end=-1", "[time] end must be positive"),
        ("--set problem.attention=no.py:f", 'must be "file.py:function" of an existing'),
        ("--set problem.attention=../k.py:f", "is Python outside the folder of the run file"),
        ("--set problem.mask=causal", 'mask = "causal" needs kernel = "exponential", got "z'),
        ("--set problem.multipliers=[1]", "needs either multipliers = [a_0, a_1, ...] or"),
        ("--set problem.beta=-3", "beta = -3.0 must lie between"),
        ("--no-code", 'k.py:f" is Python, which --no-code refuses to execute.'),
    ],
    "run own.toml": [("--no-code", "which --no-code refuses")],
    "compare own.toml": [("--no-code", "which --no-code refuses")],
    "ensemble own.toml": [("--no-code", "which --no-code refuses")],
    "compare small.toml": [
        # Tokens would be drawn from tokens.
        ("--set initial={name='atoms',angles=[0.0,2.0]}",
         "small.toml: initial law 'atoms' gives points"),
        ("--plot figure.bmp", "figures end in"),
        ("--workers 2 --scheduler tcp://127.0.0.1:1",
         "--scheduler: not allowed with argument --workers"),
    ],
    "ensemble small.toml --workers 1 --quiet": [
        ("--set problem.strength=-1", "nothing grows: uniform is stable, there is no onset time"),
        ("--set ensemble.times=[-1.0]", "[ensemble] times must be positive multiples of the onset"),
        ("--set ensemble.representation=atoms", '[ensemble] representation = "atoms" is not known'),
        ("--set ensemble.tokens=[10000000000]", "[ensemble] 10000000000 tokens"),
        ("--set ensemble.size=3",
         "size is not a key of [ensemble]. Known: representation, runs, seed, "),
        ("--plot figure.txt", "figures end in"),
    ],
    "sweep small.toml -o x --set time.save=2 --workers 1": [
        ("--over problem.bta=1,2", "bta is not a key of [problem]. Did you mean problem.beta?"),
        ("--over beta=1,2", "needs SECTION.KEY=VALUE. Did you mean problem.beta?"),
        ("--over problem.beta=1:2:0", "COUNT must be 2 to 100000, got 0"),
        ("--over problem.beta=1:2", "must be LO:HI:COUNT or LO:HI:COUNT:log"),
        ("--over problem.beta=-1:2:4:log", "ends of a range with equal ratios"),
        ("--over problem.beta=", "lacks a value"),
        ("--over problem.beta=1,1.0", "has 1.0 twice"),
        ("--over problem.beta=1e308:2e308:3", "holds numbers that are out of range"),
        ("--over problem.beta=1,2 --over problem.beta=3", "problem.beta is given twice"),
        ("--over problem.beta=1,two", '[problem] beta = "two" must be a number'),
        ("--over time.save=2,3", "time.save is given to --set, too: give one"),
        ("--over compare.tokens=[10],[20]", "changes nothing in runs: [compare] is none"),
        ("--over problem.normalized=true,false --over problem.normalization=softmax,none",
         "problem.normalized says the same and is given, too"),
        ("--over problem.beta=1:2:999 --over problem.strength=1:2:999",
         "998001 runs are more than 100000"),
    ],
    "sweep small.toml -o x --over problem.diffusivity=0.1:1:33 --adaptive": [
        ("energy:x", "or energy@0.5, got 'energy:x'"),
        (":1", "an observable with its jump or level"),
        ("energy:-1", "an observable with its jump or level"),
        ("energy@", "an observable with its jump or level"),
        ("energy --part 0/2", "leave out --part and --collect"),
        ("enrgy", "enrgy is no observable"),
    ],
    "diagram -o d.h5 --tokens 6 --dimension 3 --beta 4 --until 4 --runs 3 --workers 1": [
        ("--score gauss", "score 'gauss' is not known"),
        ("--until 0", "--until must be positive, got 0"),
        ("--dimension 1", "dimension must be at least 2, got 1"),
    ],
    "info": [
        ("nothing.h5", "nothing.h5: no such file"),
        (".", " . is a folder or a device, expected a file"),
        ("text.h5", "text.h5 is not a readable HDF5 file"),
        ("other.h5", "other.h5 is not a run file of format 2 (format_version is None)"),
    ],
    "plot": [
        ("", "plot needs a file of results"),
        ("small.toml", "but a run file: make its results with meanfield run"),
        ("figure.png", "but a figure. Expected results that meanfield wrote, such as those of "),
        ("five.npy", "but an array of NumPy"),
        ("text.h5", "is not a readable HDF5 file. Restore a copy"),
    ],
    "stability --json": [
        ("--manifold circle --beta 1e9", "beta must be 1e-300 to 1e+08"),
        ("--manifold circle", "required: --beta; or a run file, --config"),
        ("--manifold circle --beta 3 --modes 2", "--modes needs a run file"),
        ("--manifold circle --beta 3 --set time.end=2", "--set changes keys of a run file"),
        ("--manifold circle --beta 3 --tokens 1", "tokens must be at least 2, got 1"),
        ("--manifold circle --beta 3 --max-degree 9999999", "--max-degree must be at most"),
        ("--manifold circle --beta 3 --strength 0", "strength must be finite and not 0"),
        ("--manifold circle --beta 3 --diffusivity -1", "diffusivity must be finite and >= 0"),
        ("--manifold circle --beta 3 --plot nodir/x.png", "nodir/x.png cannot be written"),
        ("--manifold circle --beta 3 --plot x.gif", "x.gif"),
    ],
    "phase --manifold circle": [
        ("--beta 1 2", "--beta takes B or LO HI COUNT, got 2 numbers"),
        ("--beta 1 2 3 4", "--beta takes B or LO HI COUNT, got 4 numbers"),
        ("--beta 2 1 3", "needs LO < HI, got 2 and 1"),
        ("--beta 1 1 3", "needs LO < HI, got 1 and 1"),
        ("--beta 1 2 1", "needs a whole COUNT from 2 to 10000, got 1"),
        ("--beta 1 2 2.5", "needs a whole COUNT from 2 to 10000, got 2.5"),
        ("--beta 1 2 1e9", "needs a whole COUNT from 2 to 10000, got 1e+09"),
        ("--beta nan", "'nan' is not a finite number"),
        ("--beta", "expected at least one argument"),
        ("", "the following arguments are required: --beta"),
        ("--manifold torus --beta 1", "manifold torus is not known"),
        ("--beta 1 2 3 --kernel linear", "--kernel linear does not depend on"),
        ("--beta 1e9", "beta must be 1e-300 to 1e+08"),
        ("--beta 1 1e9 3", "beta must be 1e-300 to 1e+08"),
        ("--beta 1e6", "is too narrow: its stationary states need"),
        ("--manifold sphere:9 --beta -1e8 1 2", "is too narrow: its stationary states need"),
        ("--beta 3 --plot x.gif", "x.gif"),
        ("--beta 3 --plot nodir/x.png", "nodir/x.png cannot be written"),
        ("--beta 3 --strength -1", "unrecognized arguments: --strength -1"),
    ],
    "predict --runs 4 --json": [
        ("--manifold circle --beta 5", "--tokens N or --input TOKENS.npy is required"),
        ("--manifold circle --beta 5 --tokens 1", "tokens must be at least 2, got 1"),
        ("--manifold circle --beta 5 --tokens 9 --samples 0", "'0' is not a positive integer"),
        ("--manifold circle --beta 5 --tokens 9 --seed -1", "'-1' is not an integer >= 0"),
        ("--manifold sphere:4 --beta 5 --tokens 9", "on the circle and the sphere, got sphere:4"),
        ("--manifold sphere:4 --beta 5 --input five.npy", "expected vectors (n, 4)"),
        ("--manifold circle --beta 5 --input none.npy", "none.npy"),
        ("--manifold circle --beta 5 --input words.npy", "expected real numbers"),
        ("--manifold circle --beta 5 --input vectors.npy", 'npy": points have shape (4, 3)'),
        ("--manifold sphere --beta 5 --input five.npy", 'five.npy": points have shape (5,)'),
        ("--manifold circle --beta 5 --input one.npy", "tokens must be at least 2, got 1"),
        ("--manifold circle --beta 5 --input five.npy --tokens 6", "five.npy holds 5 tokens"),
        ("--manifold circle --beta 5 --tokens 9 --plot x.gif", "x.gif"),
        ("--manifold circle --beta 5 --tokens 9 --samples 9 --plot no/x.png", "cannot be written"),
        ("--manifold circle --beta 5 --tokens 9 --part 0/2", "give -o OUT.h5"),
    ],
    "predict --tokens 1000 -o runs.h5": [
        ("--manifold circle --beta 5 --runs 0",
         "-o keeps short runs, and there are none: give --runs N"),
        ("--manifold sphere --beta 1800 --runs 9", "potentials of degree 222 on the sphere"),
    ],
}  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working folder with a run file, arrays, and files of other kinds; and what it holds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(CONFIG)
    kernel = 'kernel = "zonal", attention = "k.py:f", beta'
    (tmp_path / "own.toml").write_text(CONFIG.replace("beta", kernel))
    for folder in (tmp_path, tmp_path.parent):
        (folder / "k.py").write_text("print('executed')\ndef f(s): return 0 * s + 1 + s\n")
    np.save("five.npy", np.arange(5.0))
    np.save("one.npy", np.zeros(1))
    np.save("vectors.npy", np.eye(4, 3) + 1.0)
    np.save("words.npy", np.array(["a", "b"]))
    (tmp_path / "figure.png").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "text.h5").write_text("hello")
    with h5py.File("other.h5", "w") as file:
        file["time"] = np.zeros(3)
    # Hours of runs would end in the refusal of their question.
    monkeypatch.setattr("meanfield.commands.predict.execute_study", None)
    return lambda: {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize("command", MISTAKES)
def test_mistake_is_one_line(cli, files, command):
    """A mistake would be a traceback, half an answer, leave files, or execute Python of others."""
    before = files()
    for line, message in MISTAKES[command]:
        assert message in cli.refused(*command.split(), *line.split()), line
        assert files() == before, line
