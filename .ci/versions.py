"""The ends of what is allowed: the oldest dependencies, and the newest Python.

python .ci/versions.py oldest    lower bounds of pyproject.toml, as constraints for pip
python .ci/versions.py newest    the newest Python that the installed numba supports, on PATH
"""

import re
import shutil
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
    return "\n".join(r.replace(">=", "==") for r in bounded)


def newest() -> str:
    """Path of the interpreter.

    Raises
    ------
    SystemExit
        If there is none; it names the one that is needed.
    """
    numba = metadata("numba")
    classifiers = " ".join(numba.get_all("Classifier", []))
    minor = max(int(found) for found in re.findall(r"Python :: 3\.(\d+)", classifiers))
    path = shutil.which(f"python3.{minor}")
    if path is None:
        version = f"3.{minor}"
        sys.exit(
            f"make newest needs Python {version}, the newest that numba {numba['Version']} "
            f"supports: found no python{version} on PATH. Install it, or say NEWEST=python3.x"
        )
    return path


if __name__ == "__main__":
    print({"oldest": oldest, "newest": newest}[sys.argv[1]]())
