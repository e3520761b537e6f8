"""Results are the same whether a process compiles its kernels or finds them compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
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
name = "perturbed_uniform"
modes = [{mode}]
[representation]
{representation}
[time]
end = {end}
save = 5
"""
CARRIERS = {
    "density": ('name = "density"', "", 2.0),
    "characteristics": ('name = "characteristics"\ntolerance = 1e-6', "", 2.0),
    "particles": ('name = "particles"\ntokens = 1000\ntolerance = 1e-6', "", 2.0),
    "noisy particles": ('name = "particles"\ntokens = 200', "diffusivity = 0.01", 1.0),
    # Ends on characteristics.
    "auto": ('name = "auto"\nmax_degree = 64\ntolerance = 1e-6', "", 12.0),
}


def _said(cache: Path, code: str, *arguments: str) -> str:
    """Output of a fresh process that keeps its kernels in a folder of its own."""
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache / "kernels")},
        cwd=cache if "run.toml" in code else None,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


# Every day tests/test_architecture.py looks for the flags that made it so.
@pytest.mark.slow
def test_moments_of_tokens(tmp_path):
    """A run killed in the process that compiled would go on with other last digits."""
    assert _said(tmp_path, MOMENTS) == _said(tmp_path, MOMENTS)


@pytest.mark.slow
@each("manifold, mode", [("circle", "[3, 0.1, 0.0]"), ("sphere", "[3, 0, 0.1]")], carrier=CARRIERS)
def test_result_hash(tmp_path, manifold, mode, carrier):
    """The first run after an installation would not be the one that all others repeat."""
    representation, problem, end = CARRIERS[carrier]
    text = TEXT.format(
        manifold=manifold, mode=mode, problem=problem, representation=representation, end=end
    )
    if "noisy" in carrier:
        text = text.replace("save = 5", "save = 5\nstep = 0.05")
    (tmp_path / "run.toml").write_text(text)
    assert _said(tmp_path, RUN, "cold.h5") == _said(tmp_path, RUN, "warm.h5")


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
    text = TEXT.format(manifold=manifold, mode="", problem="", representation="", end=5.0)
    before, after = text.split("[initial]")[0], text.split("[time]")[1]
    atoms = f'[initial]\nname = "atoms"\n{positions}\nweights = [0.5, 0.25, 0.25]\n'
    (tmp_path / "run.toml").write_text(f"{before}{atoms}[time]{after}")
    assert _said(tmp_path, RUN, "cold.h5") == _said(tmp_path, RUN, "warm.h5")


@pytest.mark.slow
def test_runs_without_the_compiler(tmp_path):
    """NUMBA_DISABLE_JIT=1, to look for an error with a debugger, would end in a traceback."""
    text = TEXT.format(
        manifold="circle", mode="[3, 0.1, 0.0]", problem="",
        representation='name = "particles"\ntokens = 5\ntolerance = 1e-2', end=0.1,
    )  # fmt: skip
    (tmp_path / "run.toml").write_text(text.replace("save = 5", "save = 2"))
    code = f"import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n{RUN}"
    assert len(_said(tmp_path, code, "slow.h5")) > 8
