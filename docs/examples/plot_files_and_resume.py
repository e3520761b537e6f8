r"""
Run files, results, resuming
============================

A run file in TOML describes the same run as Python, and results are in HDF5. A result
file is complete at every moment, and a stopped run continues from it to the same bits.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import meanfield as mf

folder = Path(mkdtemp())

# %%
# With `output=` a run is written while it runs.

law = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.0, 0.02]])
problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
first = mf.simulate(problem, until=20.0, save=11, output=folder / "three.h5")
print(first)

# %%
# `resume` continues it to a later time. Nothing is computed twice, and the result
# equals that of one call:

more = mf.simulate(
    problem, until=60.0, save=31, output=folder / "three.h5", resume=True
)
whole = mf.simulate(problem, until=60.0, save=31)
print("the same to the bit:", np.array_equal(more.moments, whole.moments))

# %%
# The file contains the run file that reproduces it:

loaded = mf.load(folder / "three.h5")
print(loaded.attributes["config"])

# %%
# This text can be run with other keys. On the command line this is
# ``meanfield run again.toml --set problem.beta=4``.

(folder / "again.toml").write_text(loaded.attributes["config"])
_, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for beta in (4.0, 5.0, 6.0):
    run = mf.run(folder / "again.toml", problem={"beta": beta})
    axes.plot(run.time, run.observables["energy"], label=rf"$\beta = {beta:g}$")
axes.set(xlabel="scaled time", ylabel="energy over that of one cluster")
axes.legend(frameon=False)
plt.show()
