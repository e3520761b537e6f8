"""The wheel, as somebody has it who has no checkout: built, looked into, installed and used.

python .ci/wheel.py    makes a new environment in a temporary folder and works there alone
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Build, look, install, use.

    Raises
    ------
    SystemExit
        If the wheel lacks or holds what it should not, or a command fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder)]
        subprocess.run([*build, str(ROOT)], check=True)
        (wheel,) = folder.glob("*.whl")
        check_contents(wheel)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        python = str(folder / "venv/bin/python")
        # Wheels of everything: nothing that the package needs is compiled where it is installed.
        install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", str(wheel)]
        subprocess.run(install, check=True)
        use(folder)


def check_contents(wheel: Path) -> None:
    """Refuse a wheel that is not the package, the whole package and nothing but that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = f"{project['name'].replace('-', '_')}-{project['version']}"
    listed = subprocess.run(
        ["git", "ls-files", "meanfield"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    expected = {*listed.stdout.split()}
    found = {
        name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith(f"{named}.dist-")
    }
    if "meanfield/py.typed" not in found or found != expected:
        sys.exit(f"{wheel.name}: differs from the package in {sorted(found ^ expected)}")
    print(f"{wheel.name}: {len(found)} files, {wheel.stat().st_size} bytes")


def use(folder: Path) -> None:
    """Run the commands and the first Python of the README, outside the checkout."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (meanfield .*?)(?:  +#.*)?$", readme.split("## Try it")[1], re.M)
    # Not what this process has: no modules of the checkout, no environment of its own.
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    there = clean | {"PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}
    for command in commands:
        print(f"$ {command}", flush=True)
        subprocess.run(command.split(), cwd=folder, env=there, check=True)
    snippet = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)[0]
    where = "import meanfield; print(meanfield.__version__, meanfield.__file__)\n"
    subprocess.run(["python", "-c", where + snippet], cwd=folder, env=there, check=True)


if __name__ == "__main__":
    main()
