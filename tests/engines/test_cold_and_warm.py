"""Results are the same whether a process compiles its kernels or finds them compiled."""

from pathlib import Path

import pytest
from fresh_process import run_python
from parameters import each

MOMENTS = """\
import hashlib
import numpy as np
from meanfield.engines.fourier.recurrence import moments
points = np.random.default_rng(0).uniform(-3.0, 3.0, 1000)
print(hashlib.sha256(moments(points, None, 31)[0].tobytes()).hexdigest())
"""
RUN = """\
import sys
import h5py
from meanfield.commands.main import main
assert main(["run", "run.toml", "-o", sys.argv[1], "--quiet", "--overwrite"]) == 0
with h5py.File(sys.argv[1]) as file:
    print(file.attrs["result_hash"])
"""
TEXT = """\
[problem]
normalization = "none"
manifold = "{manifold}"
beta = 9.0
{problem}
[initial]
{initial}
[representation]
{representation}
[time]
save = 5
{time}
"""
CARRIERS = {
    "density": ('name = "density"', "", "end = 2.0"),
    "characteristics": ('name = "characteristics"\ntolerance = 1e-6', "", "end = 2.0"),
    "particles": ('name = "particles"\ntokens = 1000\ntolerance = 1e-6', "", "end = 2.0"),
    "noisy particles":
        ('name = "particles"\ntokens = 200', "diffusivity = 0.01", "end = 1.0\nstep = 0.05"),
    # Ends on characteristics.
    "auto": ('name = "auto"\nmax_degree = 64\ntolerance = 1e-6', "", "end = 12.0"),
}  # fmt: skip
MODES = 'name = "perturbed_uniform"\nmodes = [%s]'
ATOMS = 'name = "atoms"\nweights = [0.5, 0.25, 0.25]\n%s'


def write_run_file(folder, manifold, initial, time, problem="", representation=""):
    text = TEXT.format(
        manifold=manifold,
        initial=initial,
        time=time,
        problem=problem,
        representation=representation,
    )
    (folder / "run.toml").write_text(text)


def same_cold_and_warm(folder: Path, code: str) -> bool:
    """Compare two fresh processes that keep their kernels in a folder of their own."""
    cold, warm = (
        run_python(code, name, cwd=folder, NUMBA_CACHE_DIR=str(folder / "kernels")).stdout
        for name in ("cold.h5", "warm.h5")
    )
    return cold == warm


# Every day tests/test_architecture.py looks for the flags that made it so.
@pytest.mark.slow
def test_moments_of_tokens(tmp_path):
    """A run killed in the process that compiled would go on with other last digits."""
    assert same_cold_and_warm(tmp_path, MOMENTS)


@pytest.mark.slow
@each("manifold, mode", [("circle", "[3, 0.1, 0.0]"), ("sphere", "[3, 0, 0.1]")], carrier=CARRIERS)
def test_result_hash(tmp_path, manifold, mode, carrier):
    """The first run after an installation would not be the one that all others repeat."""
    representation, problem, time = CARRIERS[carrier]
    write_run_file(tmp_path, manifold, MODES % mode, time, problem, representation)
    assert same_cold_and_warm(tmp_path, RUN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifold", "positions"),
    [
        ("circle", "angles = [0.0, 1.0, 2.5]"),
        ("sphere", "points = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.2, 1.0]]"),
    ],
)
def test_result_hash_of_atoms(tmp_path, manifold, positions):
    """Merging atoms go by the same sums over pairs."""
    write_run_file(tmp_path, manifold, ATOMS % positions, "end = 5.0")
    assert same_cold_and_warm(tmp_path, RUN)


@pytest.mark.slow
def test_runs_without_the_compiler(tmp_path):
    """NUMBA_DISABLE_JIT=1, to look for an error with a debugger, would end in a traceback."""
    few = 'name = "particles"\ntokens = 5\ntolerance = 1e-2'
    write_run_file(tmp_path, "circle", MODES % "[3, 0.1, 0.0]", "end = 0.1", "", few)
    assert len(run_python(RUN, "slow.h5", cwd=tmp_path, NUMBA_DISABLE_JIT="1").stdout) > 8
