"""The command line in this process, for tests of what commands print and refuse."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from meanfield.commands.main import main

# A command that writes every result of a study at once.
EAGER = """\
import sys
from meanfield.commands.main import main
from meanfield.store import study_file
study_file.FLUSH_SECONDS = 0.0
sys.exit(main())
"""


def killed(has_done: Callable[[], Any], *words: object, delay: float = 0.0) -> None:
    """Start a command that writes at once, and kill it when it has done so much, and later."""
    started = subprocess.Popen([sys.executable, "-c", EAGER, *map(str, words)])
    while started.poll() is None:
        time.sleep(0.002)
        if has_done():
            time.sleep(delay)
            break
    started.kill()
    started.wait()


class CommandLine:
    """Runs commands; `err` holds what the last one wrote to standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys, self.err = capsys, ""

    def __call__(self, *words: object, status: int = 0) -> str:
        self._capsys.readouterr()
        result = main([str(word) for word in words])
        out, err = self._capsys.readouterr()
        # The first run on a machine says that it compiles.
        lines = [line for line in err.splitlines(keepends=True) if "compiling kernels" not in line]
        self.err = "".join(lines)
        assert result == status, (result, err)
        return out

    def quiet(self, *words: object) -> str:
        out = self(*words)
        assert self.err == ""
        return out

    def json(self, *words: object) -> dict[str, Any]:
        return dict(json.loads(self.quiet(*words, "--json")))

    def facts(self, *words: object) -> dict[str, str]:
        first = self(*words).split("\n\n")[0]
        return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in first.splitlines())

    def refused(self, *words: object, status: int = 2) -> str:
        assert self(*words, status=status) == "" and self.err.count("\n") == 1, self.err
        return self.err
