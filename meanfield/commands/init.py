"""`meanfield init`: a commented run file to start from."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path


def execute(options: argparse.Namespace) -> int:
    """Write the file, never over another."""
    path = Path(options.name)
    if not path.name or not path.name.isprintable():
        raise ValueError(f"{options.name!r} is no name of a file.")
    if path.suffix != ".toml":
        path = path.with_name(path.name + ".toml")
    template = Path(__file__).with_suffix(".toml").read_text("utf-8")
    # A string of JSON is one of TOML.
    output = json.dumps(f"{path.stem}.h5", ensure_ascii=False)
    text = template.replace("RUN_FILE", shlex.quote(path.name)).replace('"OUTPUT"', output)
    try:
        # Never over another file, not even one that appears now.
        path.open("x").close()
    except FileExistsError:
        raise ValueError(f"{path} exists: choose another name.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        # Half a file would be in the way of the next attempt.
        path.unlink(missing_ok=True)
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    print(f"{path}: now try `meanfield run {shlex.quote(str(path))}`.")
    return 0
