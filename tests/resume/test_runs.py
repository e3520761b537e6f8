"""A run that ends after any saved time and is resumed is the uninterrupted one, to the bit."""

from itertools import cycle

import numpy as np
import pytest
import run_folder

from meanfield.store.run_file import load, read_checkpoint

CIRCLE = f"""{run_folder.CIRCLE}[time]
end = 20.0
save = 5
[output]
observables = ["order_parameter", "entropy", "free_energy", "resolution"]
"""
SPHERE = CIRCLE.replace('"circle"', '"sphere"').replace(
    "[[1, 0.1, 0.0], [3, 0.0, 0.05]]", "[[1, 0, 0.1], [3, -2, 0.05]]"
)
NOISE, SA = "problem.diffusivity=0.05", "problem.normalized=true"
LOGARITHMIC = ["time.end=1e6", "time.spacing=log", "time.first=2", "time.save=7"]
ATOMS = "initial={name='atoms', angles=[0, 0.4, 1, 2.5, 2.6], weights=[0.3, 0.2, 0.2, 0.2, 0.1]}"
VECTORS = "initial={name='atoms', points=[[0, 0, 1], [0, 0.3, 1], [1, 0, 0], [0, -1, 0.2]]}"
CONCENTRATED = "initial={name='von_mises_fisher', concentration=1.0}"


HEADS = (
    "heads=[{score=[[0.9, -0.4], [0.7, 0.5]], value=[[0.8, 0.3], [-0.6, 1.1]]}, "
    "{query=[1.0, 0.5], value=-0.5, beta=2.0}]"
)
SPHERE_HEADS = (
    "heads=[{score=[[0.8, -0.3, 0.1], [0.4, 0.6, -0.2], [0, 0.5, -0.7]], value=[1.0, 0.5, -0.2]}]"
)
POSITIVE = "heads=[{score=[[1.0, 0.2], [0.2, 0.5]]}, {score=1.0}]"
SINKHORN = "problem.normalization=sinkhorn"


def particles(count, **more):
    keys = {"name": "'particles'", "tokens": count, "seed": 3, **more}
    return [f"representation.{key}={value}" for key, value in keys.items()]


CASES = {
    "density": (CIRCLE, ["representation.name=density"]),
    "density that grows": (CIRCLE, [SA, "time.end=7", "representation.name=density"]),
    "density with diffusion": (CIRCLE, [NOISE]),
    "normalised density with diffusion": (CIRCLE, [NOISE, SA, "time.end=8"]),
    "characteristics": (CIRCLE, ["representation.name=characteristics"]),
    "particles": (CIRCLE, particles(30)),
    "particles in strips": (CIRCLE, [*particles(2000), "time.end=5"]),
    "particles by moments": (CIRCLE, [*particles(20_000), "time.end=3", SA]),
    # A quarter does not divide the times between saves: most of them lie inside a step.
    "noisy particles": (CIRCLE, [NOISE, *particles(30), "time.step=0.25"]),
    "many noisy particles": (CIRCLE, [NOISE, *particles(5000), "time.step=0.3", "time.end=2"]),
    "atoms": (CIRCLE, [ATOMS, *LOGARITHMIC]),
    "atoms at rest": (CIRCLE, ["initial={name='atoms', angles=[0, 1.5, 3]}", "time.end=1e40"]),
    "auto from a law": (CIRCLE, [SA, *LOGARITHMIC]),
    "auto from tokens": (CIRCLE, ["initial={name='tokens', file='tokens.npy'}", *LOGARITHMIC]),
    "last state": (CIRCLE, ["output.state=last", SA, *LOGARITHMIC]),
    "no state": (CIRCLE, ["output.state=none", *particles(30)]),
    "one cluster": (
        CIRCLE,
        [*particles(300), "problem.beta=1", CONCENTRATED, "time.stop=one_cluster", "time.save=12"],
    ),
    "one cluster of a density": (CIRCLE, [CONCENTRATED, "time.stop=one_cluster", "time.save=6"]),
    "listed times": (CIRCLE, ["time.save=[0.1, 0.10000000000000002, 3.0, 3.25, 12.5]"]),
    "density on the sphere": (SPHERE, ["representation.name=density", "time.end=12"]),
    "density with diffusion on the sphere": (SPHERE, [NOISE, "time.end=12"]),
    "characteristics on the sphere": (
        SPHERE,
        ["representation.name=characteristics", "representation.tolerance=1e-4", "time.end=2"],
    ),
    "particles on the sphere": (SPHERE, [*particles(30), "time.end=8"]),
    "many particles on the sphere": (SPHERE, [*particles(6000), "time.end=2"]),
    "noisy particles on the sphere": (SPHERE, [NOISE, *particles(40), "time.step=0.25"]),
    "atoms on the sphere": (SPHERE, [VECTORS, *LOGARITHMIC]),
    # Clusters that meet one after the other: the clock starts again where steps are short.
    "atoms far out in time": (
        CIRCLE,
        [
            "problem.beta=200.0",
            "initial={name='atoms', angles=[0, 0.4, 1.0, 2.5, 3.0]}",
            "time={end=1e130, save=[0.0, 10.0, 1e20, 1e100, 1e130]}",
        ],
    ),
    "heads": (CIRCLE, [HEADS, "representation.name=density", "time.end=4"]),
    "characteristics of doubly stochastic heads": (
        CIRCLE,
        [HEADS, SINKHORN, "representation.name=characteristics", "time.end=1"],
    ),
    "particles of doubly stochastic heads": (
        CIRCLE,
        [HEADS, SINKHORN, *particles(2500), "time.end=0.5"],
    ),
    "density of positive doubly stochastic heads": (
        CIRCLE,
        [POSITIVE, SINKHORN, "representation.name=density", "time.end=0.2"],
    ),
    "particles of positive doubly stochastic heads": (
        CIRCLE,
        [POSITIVE, SINKHORN, *particles(400), "time.end=0.5"],
    ),
    "noisy particles of heads": (CIRCLE, [HEADS, NOISE, *particles(200), "time.step=0.25"]),
    "auto of heads": (CIRCLE, [HEADS, SA, "time.end=6"]),
    "atoms of heads": (CIRCLE, [HEADS, SA, ATOMS, "time.end=20"]),
    "heads on the sphere": (SPHERE, [SPHERE_HEADS, "time.end=2"]),
    "particles of heads on the sphere": (
        SPHERE,
        [SPHERE_HEADS, SA, *particles(3000), "time.end=1"],
    ),
    # Characteristics from t = 4.9 to 28.5.
    "auto on the sphere": (
        SPHERE,
        [
            SA,
            "representation={tolerance=1e-3, max_degree=32}",
            "time.end=1e3",
            "time.save=[3.0, 8.0, 20.0, 30.0, 1e3]",
        ],
    ),
}


class Folder:
    def __init__(self, path, server, case):
        text, overrides = CASES[case]
        self.config, self.server = path / "run.toml", server
        self.config.write_text(text)
        # Tokens with equal weights: particles, until most of them have met.
        np.save(path / "tokens.npy", np.random.default_rng(5).uniform(0.0, 6.0, 200))
        self.sets = [word for override in overrides for word in ("--set", override)]

    def command(self, output, *options):
        path = self.config.with_name(output)
        return ["run", str(self.config), "-o", str(path), *self.sets, *options]

    def run(self, output, *options, **end):
        status = self.server(*self.command(output, *options), **end)
        assert status == {"kill": 9, "interrupt": 130}.get(end.get("how", ""), 0)
        return self.config.with_name(output)


def check_everywhere(folder, assert_same):
    """Stop after every saved time, go on with other threads; how many times there are."""
    whole = folder.run("whole.h5", "--threads", "1", how="here")
    count = len(load(whole).time)
    threads = cycle("231")
    for rows in range(1, count):
        how = ("kill", "interrupt")[rows % 2]
        part = folder.run("part.h5", "--overwrite", "--threads", "2", after=rows, how=how)
        left = load(part)
        assert len(left.time) == rows
        assert left.status == "running" or how == "interrupt"
        folder.run("part.h5", "--resume", "--threads", next(threads))
        assert_same(part, whole)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_resumed_after_any_row_is_the_same(tmp_path, server, assert_same, survived, case):
    """The result would depend on when a queue needed the machine, or on its cores."""
    count = check_everywhere(Folder(tmp_path, server, case), assert_same)
    assert count > 4
    survived("resume", "run stopped after each saved time, resumed to the same bits", count - 1)


CHAINED = [
    "noisy particles",
    "density with diffusion",
    "atoms",
    "auto from a law",
    "auto from tokens",
    "last state",
    "one cluster",
    "characteristics on the sphere",
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CHAINED)
def test_chain_of_interruptions_is_the_same(tmp_path, server, assert_same, survived, case):
    """State would be missing from a file that is resumed a second time."""
    folder = Folder(tmp_path, server, case)
    whole = folder.run("whole.h5", "--threads", "1", how="here")
    count = len(load(whole).time)
    for rows in range(1, count):
        how = ("kill", "interrupt")[rows % 2]
        folder.run("part.h5", "--resume", after=1, how=how)
        assert len(load(tmp_path / "part.h5").time) == rows
    assert_same(folder.run("part.h5", "--resume"), whole)
    survived("resume", "run stopped and resumed again and again, the same bits", count - 1)


@pytest.mark.slow
def test_resumed_on_a_later_clock_is_the_same(tmp_path, server, assert_same):
    """A run would go on from the time since its clock started, or in another unit of time."""
    folder = Folder(tmp_path, server, "atoms far out in time")
    whole = folder.run("whole.h5", "--threads", "1", how="here")
    # After 1e100, on the way to what is met at 1e140.
    part = folder.run("part.h5", after=4, how="kill")
    here, _ = read_checkpoint(part)
    assert here.epoch > 1e9 and here.clock > 1e9 and here.unit > 1.0
    assert_same(folder.run("part.h5", "--resume"), whole)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["noisy particles on the sphere", "auto from a law"])
def test_fresh_interpreters_do_the_same(tmp_path, fresh_server, assert_same, case):
    """Something that a process remembers of earlier runs would be part of the result."""
    folder = Folder(tmp_path, fresh_server, case)
    folder.run("part.h5", after=3, how="kill")
    assert_same(folder.run("part.h5", "--resume"), folder.run("whole.h5"))
