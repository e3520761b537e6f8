"""The ends of what is allowed: the oldest dependencies, and the newest Python.

python .ci/versions.py oldest    lower bounds of pyproject.toml, as constraints for pip
python .ci/versions.py newest    the newest Python here that the installed numba supports
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path


def oldest() -> str:
    """Lines `name==version`, of the package and of all its extras."""
    file = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    bounded = [r for requirements in lists for r in requirements if ">=" in r]
    # The oldest matplotlib calls what later releases of pyparsing warn of.
    return "\n".join([*(r.replace(">=", "==") for r in bounded), "pyparsing<3.3"])


def newest() -> str:
    """Path of an interpreter on PATH or of pyenv; this one if there is no newer one."""
    classifiers = " ".join(metadata("numba").get_all("Classifier", []))
    supported = {int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", classifiers)}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in sorted(supported, reverse=True):
        if minor <= sys.version_info.minor:
            break
        on_path = shutil.which(f"python3.{minor}")
        for path in [*([on_path] if on_path else []), *pyenv.glob(f"3.{minor}.*/bin/python")]:
            # A shim of pyenv fails where its version is not chosen.
            if subprocess.run([path, "-m", "venv", "--help"], capture_output=True).returncode == 0:
                return str(path)
    return sys.executable


if __name__ == "__main__":
    print({"oldest": oldest, "newest": newest}[sys.argv[1]]())
