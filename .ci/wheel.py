"""The wheel, as somebody has it who has no checkout: built, looked into, installed and used.

python .ci/wheel.py    writes build/wheel/*.whl, and tries it in a new environment elsewhere

The wheel carries compiled kernels for both levels of x86-64 that `meanfield.engines.packaged`
lists, as far as this processor can run them. Other machines ignore them.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = "meanfield/engines/kernels/"
LEVELS = ("x86-64-v3", "x86-64-v4")
# Beside what the README has: both flows and carriers on the sphere, two heads.
RUNS = """
law = mf.perturbed_uniform([[2, 0, 0.1]])
for flow in (mf.USA, mf.SA):
    problem = mf.Problem(mf.Sphere(), mf.exponential(9.0), flow, law)
    mf.simulate(problem, until=1.0)
    mf.simulate(problem, until=1.0, representation="particles", tokens=500)
heads = mf.Attention([mf.Head(), mf.Head(score=[[2.0, 0.3], [0.0, 1.0]])], beta=5.0)
mf.simulate(mf.Problem(mf.Circle(), heads, initial=mf.perturbed_uniform([[1, 0.1, 0]])), until=1.0)
"""


def main() -> None:
    """Build, look, install, use.

    Raises
    ------
    SystemExit
        If the wheel lacks or holds what it should not, or a command fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        check_contents(wheel)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        python = str(folder / "venv/bin/python")
        # Wheels of everything: nothing that the package needs is compiled where it is installed.
        install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", str(wheel)]
        subprocess.run(install, check=True)
        use(folder, compiled=KERNELS in " ".join(zipfile.ZipFile(wheel).namelist()))


def build(folder: Path) -> Path:
    """Compile kernels in a copy of the package, and make a wheel of it."""
    source = folder / "source"
    for name in [*listed_files(), "pyproject.toml", "README.md", "LICENSE"]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    script = [sys.executable, str(ROOT / ".ci/kernels.py")]
    there = os.environ | {"PYTHONPATH": str(source)}
    running = [subprocess.Popen([*script, level], env=there) for level in LEVELS]
    # Another processor makes a wheel with fewer kernels, or with none.
    print(f"kernels: {sum(process.wait() == 0 for process in running)} of {len(LEVELS)} levels")
    wheels = ROOT / "build/wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels)]
    subprocess.run([*command, str(source)], check=True)
    (wheel,) = wheels.glob("*.whl")
    return wheel


def listed_files() -> list[str]:
    """Files of the package that are under version control."""
    command = ["git", "ls-files", "meanfield"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return listed.stdout.split()


def check_contents(wheel: Path) -> None:
    """Refuse a wheel that is not the package, the whole package and nothing but that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = f"{project['name'].replace('-', '_')}-{project['version']}"
    expected = {*listed_files()}
    found = {
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if not name.startswith((f"{named}.dist-", KERNELS))
    }
    if "meanfield/py.typed" not in found or found != expected:
        sys.exit(f"{wheel.name}: differs from the package in {sorted(found ^ expected)}")
    print(f"{wheel.name}: {len(found)} files, {wheel.stat().st_size} bytes")


def use(folder: Path, compiled: bool) -> None:
    """Run the commands and the Python of the README, and `RUNS`, outside the checkout.

    Raises
    ------
    SystemExit
        If something was compiled although the wheel has compiled kernels.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (meanfield .*?)(?:  +#.*)?$", readme.split("## Try it")[1], re.M)
    # Not what this process has: no modules of the checkout, no environment of its own.
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    kernels = folder / "numba"
    there = clean | {"PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
    there["NUMBA_CACHE_DIR"] = str(kernels)
    for command in commands:
        print(f"$ {command}", flush=True)
        subprocess.run(command.split(), cwd=folder, env=there, check=True)
    snippets = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)
    where = "import meanfield; print(meanfield.__version__, meanfield.__file__)\n"
    code = "\n".join([where, *snippets, RUNS])
    subprocess.run(["python", "-c", code], cwd=folder, env=there, check=True)
    if compiled and (written := sorted(path.name for path in kernels.rglob("*.nbc"))):
        sys.exit(f"compiled after the installation: {' '.join(written)}")


if __name__ == "__main__":
    main()
