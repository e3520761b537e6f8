"""Mistakes on the command lines of theory: `stability`, `phase` and `predict`."""

import numpy as np
import pytest
from parameters import together

MISTAKES = {
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
    ],
}


@pytest.mark.slow
@together("command, line, message", [(c, *row) for c, rows in MISTAKES.items() for row in rows])
def test_mistake_is_one_line(cli, command, line, message, tmp_path, monkeypatch):
    """A mistake would be a traceback, or half an answer."""
    monkeypatch.chdir(tmp_path)
    np.save("five.npy", np.arange(5.0))
    np.save("one.npy", np.zeros(1))
    np.save("vectors.npy", np.eye(4, 3) + 1.0)
    np.save("words.npy", np.array(["a", "b"]))
    assert message in cli.refused(*command.split(), *line.split())
