"""Memory that is known before a run starts, and a run that has too little."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest
from parameters import refused

from meanfield.carriers import represent
from meanfield.commands import memory
from meanfield.commands.memory import (
    check_comparison_memory,
    check_memory,
    largest_need,
    particle_count,
    starting_need,
    study_need,
)
from meanfield.runfile import ConfigError, load_config
from meanfield.store.run_file import load

CONFIG = """\
problem = { normalization = "none", manifold = "circle", beta = 4.0 }
initial = { name = "perturbed_uniform", modes = [[1, 0.1, 0.0]] }
time = { end = 2.0, save = 5 }
output = { state = "none" }
ensemble = { tokens = [100, 1000000], runs = 4 }
compare = { tokens = [100, 1000000], runs = 4 }
"""
SPHERE = ["problem.manifold=sphere", "initial.modes=[[1, 0, 0.1]]"]
DENSITY = "representation.name=density"
# Near-uniform densities need no grid.
PEAK = "initial={name='von_mises_fisher', concentration=3.0}"
PARTICLES = ["representation.name=particles", "representation.tokens=1000000"]
MIB = 2**20


@pytest.fixture
def room(monkeypatch):
    """A machine with 300 MiB."""
    monkeypatch.setattr(memory, "available_memory", lambda: 300.0 * MIB)
    return monkeypatch


def need_of(config, *overrides):
    return load_config(config, overrides)


def test_particles_are_counted(config):
    """Memory would be estimated for another system."""
    assert particle_count(need_of(config)) is None
    assert particle_count(need_of(config, *PARTICLES)) == 1_000_000
    assert particle_count(need_of(config, "initial={name = 'atoms', angles = [0, 1, 2]}")) == 3


@pytest.mark.parametrize(
    ("overrides", "start", "largest"),
    [
        ([DENSITY], "degree 64", "degree 4096"),
        ([DENSITY, "representation.max_degree=300"], "degree 64", "degree 300"),
        ([], "degree 64", "2000000 nodes"),
        (["representation.max_nodes=9"], "degree 64", "degree 512"),
        (["problem.diffusivity=0.1"], "degree 64", "degree 4096"),
        (["representation.name=characteristics"], "160 nodes", "2000000 nodes"),
        (PARTICLES, "1000000 tokens", "1000000 tokens"),
        ([*SPHERE, DENSITY], "degree 64", "degree 512"),
    ],
)
def test_needs_are_those_of_the_representation(config, overrides, start, largest):
    """Memory would be that of another representation, or of what it never grows to."""
    loaded = need_of(config, *overrides)
    beginning, grown = starting_need(loaded), largest_need(loaded)
    assert (beginning.what, grown.what) == (start, largest)
    assert beginning.size <= grown.size == largest_need(loaded).size


def test_stages_are_what_noisy_tokens_do_not_have(config):
    """Noisy systems that fit would be refused."""
    noisy = need_of(config, *PARTICLES, "problem.diffusivity=0.1", "time.step=0.1")
    assert largest_need(noisy).size < 0.8 * largest_need(need_of(config, *PARTICLES)).size


def test_states_that_wait_are_counted(config):
    """A run that keeps its states would be killed by them; but they do not wait for ever."""
    few, many = (
        largest_need(need_of(config, *PARTICLES, "output.state=all", f"time.save={n}")).size
        for n in (5, 60)
    )
    assert few - largest_need(need_of(config, *PARTICLES)).size == 5 * 8e6
    assert many - few == 2**28 + 8e6 - 5 * 8e6


@pytest.mark.parametrize(
    ("overrides", "size"),
    [
        # Bytes a node, 4.5 or 3 nodes a degree, and 16 pi / 3 or 16 pi degrees a radius.
        ([*SPHERE, "problem.beta=36.0"], 75 * 4.5 * 403**2),
        ([*SPHERE, "problem.beta=400.0", "representation.max_degree=512"], 75 * 4.5 * 666**2),
        (["problem.beta=1e7", "representation.max_degree=65536"], 90 * 3 * 635_819),
    ],
)
def test_grid_of_clusters_is_counted(config, overrides, size):
    """A density of low degree would take 250 MiB without notice, and be killed."""
    loaded = need_of(config, DENSITY, *overrides)
    problem = loaded.problem
    state = represent(problem, loaded.options).state.nbytes
    unseen = starting_need(loaded, observed=False).size  # by comparisons
    result = starting_need(loaded).size - memory._BASE - memory._OBSERVED * state
    assert result == pytest.approx(size, rel=1e-5)
    assert unseen < memory._BASE + result


@pytest.mark.parametrize(("commands", "overrides", "line"), [
    (("run", "check"), PARTICLES, "[representation] 1000000 tokens would take about 0.661 GiB of "
     "memory; this process may use 0.293 GiB. Take fewer tokens, or a machine with more."),
    (("run", "check"), [*SPHERE, DENSITY, "initial.modes=[[300, 0, 0.1]]"],
     "[representation] degree 512 would take about 0.48 GiB of memory; this process may use "
     "0.293 GiB. Lower max_degree, or a machine with more."),
    (("run", "check"), [*SPHERE, DENSITY, "problem.beta=100.0"],
     "[representation] degree 90 would take about 0.415 GiB of memory; this process may use "
     "0.293 GiB. Clusters are looked for on a fine grid: lower beta, or a machine with more."),
    (("run", "check"),
     ["representation.name=characteristics", "initial.modes=[[3000, 0.1, 0.0]]"],
     "nodes would take about"),
    (("ensemble --workers 1",), [], "[ensemble] 1000000 tokens would take about 0.661 GiB"),
    (("compare --workers 1",), [], "[compare] 1000000 tokens would take about 0.661 GiB"),
    # Each worker would fit, and all of them not.
    (("ensemble --workers 3",), [], "[ensemble] 1000000 tokens in each of 3 workers would take "
     "about 2.26 GiB"),
    (("compare --workers 3",), [], "[compare] 1000000 tokens in each of 3 workers would take "
     "about 2.26 GiB"),
    # The density runs here, before any tokens.
    (("compare",), [SPHERE[0], "initial.modes=[[300, 0, 0.1]]", "compare.tokens=[10]"],
     "[representation] degree 512 would take about 0.48 GiB"),
])  # fmt: skip
def test_what_cannot_begin_is_refused(config, commands, overrides, line, room, cli):
    """The system would end it, or another process, after an hour of shuffling memory."""
    options = [part for override in overrides for part in ("--set", override)]
    for command in commands:
        name, *more = command.split()
        said = cli.refused(name, config, *more, *options)
        assert said.startswith(f"meanfield: {config}: [") and line in said
    assert not config.with_suffix(".h5").exists()


def test_run_that_may_outgrow_the_machine_has_a_warning(config, room, capsys):
    """A density that hardly grows would be refused, or one that does die without a warning."""
    check_memory(need_of(config, *SPHERE, DENSITY, "representation.max_degree=1023"))
    assert capsys.readouterr().err == (
        f"meanfield: {config}: [representation] degree 1023 would take about 1.09 GiB of memory, "
        "this process may use 0.293 GiB: a run that grows as far would fail.\n"
    )
    check_memory(need_of(config, DENSITY))
    assert capsys.readouterr().err == ""


def test_results_of_a_comparison_are_counted(config, room):
    """They would fill the memory while systems run, and the study would be lost."""
    options = argparse.Namespace(workers=1, scheduler=None)
    many = ["compare.tokens=[10, 20]", "compare.runs=100000"]
    message = r"\[compare\] results of 200000 systems would take"
    refused(message, check_comparison_memory, need_of(config, *many), options, error=ConfigError)
    check_comparison_memory(need_of(config, *many, "compare.runs=1000"), options)


def test_check_tells_what_studies_lack(config, room, cli):
    """`check` would call valid what `compare` and `ensemble` refuse."""
    cli("check", config)
    for study in ("compare", "ensemble"):
        assert f"meanfield: {config}: [{study}] 1000000 tokens" in cli.err


def test_ensemble_of_densities_moves_few_nodes(config):
    """An ensemble whose cost does not depend on the tokens would be refused for them."""
    density = need_of(config, "ensemble.representation=density")
    whole = study_need(need_of(config), "ensemble", 1_000_000, 1).size
    assert study_need(density, "ensemble", 1_000_000, 1).size < 0.6 * whole


# Takes the memory away when three times were saved: the address space may not grow any more.
LIMITED = """\
import resource, sys
from meanfield.commands import run as command
from meanfield.commands.main import main
lines, saved = command.event_lines, []
def limited(events, unit):
    saved.append(events)
    if len(saved) == 3:
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return lines(events, unit)
command.event_lines = limited
sys.exit(main())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no such file on this system")
@pytest.mark.slow
@pytest.mark.parametrize("overrides", [[], ["problem.diffusivity=0.1", "time.step=0.1"]])
def test_run_out_of_memory_keeps_its_file(config, overrides):
    """A traceback, and a file that says it is still running."""
    options = [o for s in [*PARTICLES, *overrides, "time.end=20.0"] for o in ("--set", s)]
    line = [sys.executable, "-c", LIMITED, "run", str(config), *options]
    # Memory that is freed returns to the system: without this the allocator may keep it in pieces.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    output = config.with_suffix(".h5")
    words = f"meanfield: not enough memory for this run; {output} keeps what was saved"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, words)
    assert "Traceback" not in done.stderr
    run = load(output)
    assert (run.status, run.time.tolist()) == ("failed at t = 10", [0.0, 5.0, 10.0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such file on this system")
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        PARTICLES,
        [*PARTICLES, "problem.normalized=true"],
        [*PARTICLES, "problem.diffusivity=0.1", "time.step=1.0"],
        [*SPHERE, DENSITY, "initial.modes=[[256, 0, 0.001]]", "time.end=0.01"],
        [*SPHERE, DENSITY, PEAK, "problem.beta=400.0", "time.end=0.01"],
    ],
    ids=["auto", "tokens", "SA", "noise", "sphere", "clusters"],
)
def test_estimate_is_that_of_the_run(config, overrides):
    """A run would be killed, or refused without need; `tests/benchmarks/memory.py` has more."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom meanfield.commands.main import main\n"
        "status = main()\nlines = Path('/proc/self/status').read_text().splitlines()\n"
        "print(*[line.split()[1] for line in lines if line.startswith('VmHWM')])\nsys.exit(status)"
    )
    options = [part for override in overrides for part in ("--set", override)]
    line = [sys.executable, "-c", code, "run", str(config), "--quiet", "--overwrite", *options]
    # Compilers take memory, the first time on a machine.
    for _ in range(2):
        done = subprocess.run(line, capture_output=True, text=True, check=True)
    ratio = starting_need(need_of(config, *overrides)).size / (1024 * float(done.stdout))
    assert 1.0 <= ratio < 1.5
