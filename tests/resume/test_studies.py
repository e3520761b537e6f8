"""An ensemble or comparison that ends after any task and is resumed is the uninterrupted one."""

import h5py
import pytest

CONFIG = """\
problem = { normalization = "none", manifold = "circle", beta = 5.0 }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
representation = { tolerance = 1e-6 }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], runs = 3 }
ensemble = { tokens = [20, 60], runs = 3 }
"""
SPHERE = ["problem.manifold=sphere", "initial.modes=[[1, 0, 0.1], [3, -2, 0.05]]"]
CASES = {
    "ensemble": ("ensemble", []),
    "ensemble by density": ("ensemble",
                            ["ensemble.representation=density", "ensemble.tokens=[900, 4000]"]),
    "ensemble on the sphere": ("ensemble", SPHERE),
    "comparison": ("compare", []),
    "noisy comparison": ("compare", ["problem.diffusivity=0.02", "time.step=0.3"]),
    "comparison on the sphere": ("compare", [*SPHERE, "compare.metric=sobolev"]),
}  # fmt: skip
TASKS = 6


class Folder:
    def __init__(self, path, server, case):
        self.study, overrides = CASES[case]
        self.config, self.server = path / "study.toml", server
        self.config.write_text(CONFIG)
        self.sets = [word for override in overrides for word in ("--set", override)]

    def run(self, output, workers, *options, **end):
        path = self.config.with_name(output)
        words = [self.study, str(self.config), "-o", str(path), "--workers", str(workers)]
        status = self.server(*words, *self.sets, *options, **end)
        assert status == {"kill": 9, "interrupt": 130}.get(end.get("how", ""), 0)
        return path


def status(path):
    with h5py.File(path) as file:
        return str(file.attrs["status"])


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_resumed_after_any_task_is_the_same(tmp_path, server, assert_same, survived, case):
    """A study would depend on when a queue needed the machine."""
    folder = Folder(tmp_path, server, case)
    whole = folder.run("whole.h5", 1, how="here")
    for tasks in range(1, TASKS + 1):
        how = ("kill", "interrupt")[tasks % 2]
        part = folder.run("part.h5", 1, "--overwrite", after=tasks, how=how)
        assert status(part) == "running" or f"interrupted with {tasks} of 6 " in status(part)
        folder.run("part.h5", 1, "--resume", "--threads", "3")
        assert_same(part, whole)
    survived("resume", "study stopped after each result, resumed to the same bits", TASKS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_chain_of_interruptions_is_the_same(tmp_path, server, assert_same, case):
    """Finished members would run again, or be lost the second time."""
    folder = Folder(tmp_path, server, case)
    whole = folder.run("whole.h5", 1, how="here")
    for tasks in range(1, TASKS + 1):
        part = folder.run("part.h5", 1, "--resume", after=1, how=("kill", "interrupt")[tasks % 2])
    # Everything is there, only the last word is missing.
    assert status(part) == "running"
    assert_same(folder.run("part.h5", 1, "--resume"), whole)
    assert status(part) == "completed"


@pytest.mark.slow
@pytest.mark.parametrize("case", ["ensemble", "comparison"])
def test_workers_of_a_resumed_study_change_nothing(tmp_path, server, assert_same, case):
    """A study would have to be finished on a machine like that where it was begun."""
    folder = Folder(tmp_path, server, case)
    whole = folder.run("whole.h5", 1, how="here")
    part = folder.run("part.h5", 2, after=2, how="interrupt")
    assert status(part).startswith("interrupted with ")
    folder.run("part.h5", 1, "--resume", after=1, how="kill")
    assert_same(folder.run("part.h5", 2, "--resume"), whole)
