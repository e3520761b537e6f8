"""Runs one command after the other in one process, so that thousands of faults fit into minutes.

    {"arguments": ["info", "run.h5"]}        in: a command line,
    {"load": "run.h5", "kind": "run"}        or a file to load and to make a number of
    {"status": 2, "out": "", "err": "..."}   out: what a shell would have seen

A line of JSON each. A crash of a library ends the process, and the other side sees it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import Any

import numpy as np

from meanfield.commands.main import main
from meanfield.store.run_file import load
from meanfield.store.study_file import read_result

# What a damaged file asks for must fail here rather than take the machine's memory.
_MOST_MEMORY = 2**33


LOADERS = {
    "run": load,
    "comparison": partial(read_result, kind="comparison"),
    "ensemble": partial(read_result, kind="ensemble"),
}


def described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, dict):
        return str({key: described(value[key]) for key in sorted(value)})
    if isinstance(value, tuple | list):
        return str([described(item) for item in value])
    names = [n for n in getattr(value, "__dataclass_fields__", {}) if n != "manifold"]
    if names and hasattr(value, "__dict__"):
        return described({name: getattr(value, name) for name in names})
    return repr(value)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("always")
        try:
            if "load" in request:
                result = described(LOADERS[request["kind"]](request["load"]))
                print(hashlib.sha256(result.encode()).hexdigest())
                status = 0
            else:
                status = main(request["arguments"])
        except ValueError as error:
            # Only `load` lets them through: the one line of a script.
            print(f"meanfield: {error}", file=err)
            status = 2 if "load" in request else 99
        except BaseException:
            traceback.print_exc(file=err)
            status = 99
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


def serve() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    # Standard output is for answers; commands have streams of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
