"""Python in a process of its own, for tests of what is loaded, compiled or printed at its start."""

import os
import subprocess
import sys
from pathlib import Path


def run_python(
    code: str, *arguments: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Output of code that ends well, with changes of the environment."""
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run
