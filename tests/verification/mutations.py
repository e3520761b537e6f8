"""Would the verification see a mistake? Deliberate ones, one at a time, in a copy of the package.

Each is a wrong sign, factor or conjugation in one line, and the tests that should fail for it.
They must pass in the copy without it. Prints a table, adds a line for each to the file named by
MEANFIELD_VERIFICATION, and ends with status 1 if a mistake stays unseen.

Run: python tests/verification/mutations.py (`make mutations`)
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import reporting

ROOT = Path(__file__).parents[2]
HERE = "tests/verification/"


@dataclass(frozen=True)
class Mutation:
    """A mistake: in `file` of the package, `text`, which occurs once, becomes `wrong`."""

    what: str
    file: str
    text: str
    wrong: str
    tests: str


MUTATIONS = [
    Mutation(
        "the potential has the wrong sign",
        "fields/mean_field.py",
        "potential = flow.strength * kernel",
        "potential = -flow.strength * kernel",
        HERE + "test_moment_hierarchy.py::test_density_satisfies_the_hierarchy",
    ),
    Mutation(
        "softmax of a density divides by the potential, not by the attention",
        "engines/fourier/density.py",
        "a = attention_multipliers[k]",
        "a = potential_multipliers[k]",
        HERE + "test_moment_hierarchy.py::test_normalized_density_follows_plain_sums",
    ),
    Mutation(
        "softmax of tokens divides by the potential, not by the attention",
        "fields/mean_field.py",
        "partition = self.manifold.convolve(self.attention_multipliers, moments)",
        "partition = self.manifold.convolve(self.potential_multipliers, moments)",
        HERE + "test_atoms.py::test_mean_field_on_atoms_is_the_particle_velocity",
    ),
    Mutation(
        "the potential lacks the factor 1 / beta",
        "terms/kernels/exponential.py",
        "self.attention_multipliers(dimension, max_degree) / self.beta\n",
        "self.attention_multipliers(dimension, max_degree)\n",
        HERE + "test_moment_hierarchy.py::test_density_satisfies_the_hierarchy",
    ),
    Mutation(
        "eigenvalues of the Laplacian are l^2 on the sphere too",
        "spaces/manifold.py",
        "return l * (l + dimension - 1)",
        "return l * l",
        HERE + "test_linear_growth.py::test_every_order_of_a_degree_grows_at_the_printed_rate",
    ),
    Mutation(
        "the density on the circle is multiplied with its mirror image",
        "engines/fourier/transform.py",
        "_product(a, -b, ",
        "_product(a, b, ",
        HERE + "test_moment_hierarchy.py::test_density_satisfies_the_hierarchy",
    ),
    Mutation(
        "the flux on the circle comes back conjugated",
        "engines/fourier/density.py",
        "flux[1 - i, j] = ",
        "flux[i, j] = ",
        HERE + "test_moment_hierarchy.py::test_normalized_density_follows_plain_sums",
    ),
    Mutation(
        "moments of points on the circle are conjugated",
        "engines/fourier/recurrence_kernels.py",
        "complex(cc - sign * ss, -(sc + sign * cs))",
        "complex(cc - sign * ss, sc + sign * cs)",
        HERE + "test_atoms.py::test_mean_field_on_atoms_is_the_particle_velocity",
    ),
    Mutation(
        "the force that a token feels is added, not its reaction",
        "engines/pairs/circle_kernels.py",
        "_add(-2.0 * masses[i], s, drift[start:stop])",
        "_add(2.0 * masses[i], s, drift[start:stop])",
        HERE + "test_atoms.py::test_particle_velocity_does_not_depend_on_how_it_is_summed",
    ),
    Mutation(
        "divergence on the sphere has the sign of the gradient's adjoint",
        "engines/harmonics/rings.py",
        "return -self._analysis_factor",
        "return self._analysis_factor",
        HERE + "sphere/test_right_hand_side.py::test_density_moves_with_its_velocity",
    ),
    Mutation(
        "forces on the sphere keep their normal part",
        "engines/pairs/sphere_kernels.py",
        "u, v, w = u - normal * x, v - normal * y, w - normal * z",
        "u, v, w = u + normal * x, v + normal * y, w + normal * z",
        HERE + "test_atoms.py::test_particle_velocity_does_not_depend_on_how_it_is_summed",
    ),
    Mutation(
        "velocities of long vectors are not scaled with them",
        "carriers/particles.py",
        "            velocity = velocity * space.per_point(lengths)\n",
        "            velocity = velocity / space.per_point(lengths)\n",
        HERE + "sphere/test_particle_steps.py::test_lengths_drift_and_do_not_matter",
    ),
    Mutation(
        "div v of softmax adds <v, grad Z> / Z",
        "fields/mean_field.py",
        "            laplacian -= along\n        return velocity, laplacian",
        "            laplacian += along\n        return velocity, laplacian",
        HERE + "test_agreement.py::test_densities_agree_at_the_nodes_of_characteristics",
    ),
    Mutation(
        "diffusion has the wrong sign in the right-hand side",
        "carriers/density.py",
        "derivative -= self._diffusion * state",
        "derivative += self._diffusion * state",
        HERE + "test_manufactured.py::test_right_hand_side_of_the_bumps_is_the_closed_form",
    ),
    Mutation(
        "exponential steps take half the diffusivity",
        "carriers/density.py",
        "(self._linear_transport - self._diffusion).real",
        "(self._linear_transport - 0.5 * self._diffusion).real",
        HERE + "test_noise.py::test_modes_that_nobody_feels_decay_like_heat",
    ),
    Mutation(
        "the linear part is counted twice under softmax",
        "carriers/density.py",
        "derivative -= self._linear_transport * state",
        "derivative += self._linear_transport * state",
        HERE + "test_noise_reference.py::test_density_follows_an_independent_code",
    ),
    Mutation(
        "a weight of the exponential method is off, still consistent",
        "engines/steps/exponential_weights.py",
        "early = 0.5 * (two_half - three_half) + 0.25 * two - three",
        "early = 0.5 * (two_half + three_half) + 0.25 * two - three",
        HERE + "test_manufactured.py::test_steps_have_their_order_on_the_bumps",
    ),
    Mutation(
        "Brownian motion on the circle has variance t, not 2 t",
        "spaces/circle/circle.py",
        "np.sqrt(2.0 * time) * normals",
        "np.sqrt(time) * normals",
        "tests/schemes/test_stochastic.py",
    ),
    Mutation(
        "the drift of noisy tokens takes Euler's step, not the midpoint rule",
        "schemes/stochastic.py",
        "self._drift(time + half, middle)",
        "self._drift(time, state)",
        "tests/schemes/test_stochastic.py",
    ),
    Mutation(
        "energy is twice what it should be",
        "observables/energies.py",
        "return np.asarray(multipliers / reference)",
        "return np.asarray(2.0 * multipliers / reference)",
        HERE + "test_energy.py::test_energy_of_uniform_equals_the_printed_values",
    ),
    Mutation(
        "the free energy adds the interaction",
        "observables/energies.py",
        "return disorder - flow.strength * interaction",
        "return disorder + flow.strength * interaction",
        HERE + "test_noise_reference.py::test_free_energy_falls_by_its_dissipation",
    ),
    Mutation(
        "paper time is scaled the wrong way",
        "spectrum/time_units.py",
        "np.exp(-problem.log_scale)",
        "np.exp(problem.log_scale)",
        HERE + "test_reference_trajectories.py::test_asymmetric_run_equals_the_table",
    ),
]


def to_mend(mutation: Mutation) -> list[str]:
    """A line for each mutation whose line or test is not where it says."""
    lines = []
    source = _sources("meanfield").get(mutation.file, "")
    if source.count(mutation.text) != 1:
        lines.append(
            f"{mutation.file} holds {mutation.text!r} {source.count(mutation.text)} times, "
            f"expected once; {_holding('meanfield', mutation.text)}."
        )
    else:
        try:
            compile(source.replace(mutation.text, mutation.wrong), mutation.file, "exec")
        except SyntaxError as error:
            lines.append(f"{mutation.file} does not compile with {mutation.wrong!r}: {error}.")
    file, _, name = mutation.tests.partition("::")
    definition = f"def {name}(" if name else "def test_"
    if definition not in _sources("tests").get(file.removeprefix("tests/"), ""):
        lines.append(f"{file} has no {definition!r}; {_holding('tests', definition)}.")
    return [f"{mutation.what}: {line}" for line in lines]


@cache
def _sources(folder: str) -> dict[str, str]:
    """Texts of the Python files below a folder, by their paths in it."""
    top = ROOT / folder
    return {p.relative_to(top).as_posix(): p.read_text("utf-8") for p in top.rglob("*.py")}


def _holding(folder: str, text: str) -> str:
    files = [file for file, source in _sources(folder).items() if text.strip() in source]
    return f"it stands in {', '.join(files)}" if files else f"no file of {folder} holds it"


def copy_of(place: Path) -> None:
    """Package and tests in a folder, without compiled kernels: their cache would hide mistakes."""
    for name in ("meanfield", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "benchmarks")
        shutil.copytree(ROOT / name, place / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", place)


def run(place: Path, tests: list[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy, which its folder puts before the installed package."""
    environment = {k: v for k, v in os.environ.items() if k != "MEANFIELD_VERIFICATION"}
    # Kernels are compiled beside the copy, and Python runs its modules first.
    environment |= {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(place / "numba")}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)


def check_copy(tests: list[str]) -> None:
    """Run all tests without a mistake, and see that they are of the copy.

    Raises
    ------
    SystemExit
        If they fail.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_of(place)
        (place / "tests" / "test_place.py").write_text(
            "import meanfield\n\n\ndef test_place():\n"
            f"    assert meanfield.__file__.startswith({str(place)!r})\n"
        )
        done = run(place, ["tests/test_place.py", *tests])
        if done.returncode != 0:
            sys.exit(f"the tests fail without any mistake:\n{done.stdout[-3000:]}")


def caught_by(mutation: Mutation) -> str:
    """Name of the test that fails; empty if none does.

    Raises
    ------
    ValueError
        If the tests cannot be run.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_of(place)
        file = place / "meanfield" / mutation.file
        source = file.read_text(encoding="utf-8")
        file.write_text(source.replace(mutation.text, mutation.wrong), encoding="utf-8")
        done = run(place, [mutation.tests])
    if done.returncode not in (0, 1):
        raise ValueError(f"{mutation.tests} could not be run:\n{done.stdout[-3000:]}{done.stderr}")
    failed = re.search(r"^FAILED \S+::(\w+)", done.stdout, re.M)
    return failed.group(1) if failed else ""


def main() -> int:
    """Try all mutations; 1 if one is not caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutations with one of these words")
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if not options.words or any(w in m.what for w in options.words)]
    if mend := [line for mutation in chosen for line in to_mend(mutation)]:
        sys.exit("\n".join(["mutations to mend, as the code has moved:", *mend]))
    check_copy(sorted({mutation.tests for mutation in chosen}))
    unseen = 0
    # Each is a process of its own, which mostly compiles, on one core.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        result = list(zip(chosen, pool.map(caught_by, chosen), strict=True))
    for mutation, by in result:
        unseen += not by
        print(f"{mutation.what:<66} {by or 'NOT CAUGHT'}")
        record = {
            "section": "mutations",
            "what": mutation.what,
            "file": f"meanfield/{mutation.file}",
            "caught": bool(by),
            "by": by,
        }
        reporting.write_down("MEANFIELD_VERIFICATION", record)
    print(f"{len(chosen) - unseen} of {len(chosen)} caught")
    return int(unseen > 0)


if __name__ == "__main__":
    sys.exit(main())
