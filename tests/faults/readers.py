"""Commands that read files, what they say of a whole one, and what of one that is not."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

WHAT = {
    "density": "run of a density",
    "particles": "run of particles",
    "auto": "run that hands over",
    "sphere": "run on the sphere",
    "comparison": "comparison",
    "ensemble": "ensemble",
}
"""File -> its name on the page."""

# Seconds for the whole file.
DEAR = ("plot", "run --resume to a later end", "run from its last state")


def readers(file: Any, folder: Path) -> dict[str, list[object]]:
    """Commands that read a file of this kind, where it lies in a folder as file.h5."""
    path = folder / "file.h5"
    lines: dict[str, list[object]] = {"info --provenance": ["info", path, "--provenance"]}
    if file.kind != "run":
        command = {"comparison": "compare", "ensemble": "ensemble"}[file.kind]
        resume = [command, file.config, "-o", path, "--resume", "--quiet", "--workers", "1"]
        return lines | {f"{command} --resume": resume}
    run = tomllib.loads(file.config.read_text())
    again = {
        "problem": run["problem"],
        "initial": {"name": "file", "path": "file.h5"},
        "time": {"end": 1.0},
    }
    (folder / "again.toml").write_text(tomli_w.dumps(again))
    resume = ["run", file.config, "-o", path, "--resume", "--quiet"]
    return lines | {
        "info": ["info", path],
        "info --csv": ["info", path, "--csv"],
        "info --json": ["info", path, "--json"],
        "plot": ["plot", path, "-o", folder / "figure.png"],
        "run --resume": resume,
        "run --resume to a later end": [*resume, "--set", f"time.end={1.5 * run['time']['end']}"],
        "run from its last state": ["check", folder / "again.toml"],
    }


@dataclass(frozen=True)
class Reader:
    """A file of some kind in a folder, and what commands say of it while it is whole."""

    commands: Any
    file: Any
    folder: Path
    expected: dict[str, tuple[Any, str]]

    @property
    def path(self) -> Path:
        return self.folder / "file.h5"

    def summary(self, name: str) -> tuple[Any, str]:
        """Answer of a command, and the hash of the results in the file after it."""
        if name == "load":
            return self.commands.load(self.path, self.file.kind), ""
        answer = self.commands(*readers(self.file, self.folder)[name])
        if "last state" in name:
            # It tells of a time that it measured.
            return replace(answer, out=""), ""
        if answer.status != 0 or "later" not in name:
            return answer, ""
        text = self.commands("info", self.path, "--provenance", "--json")
        return answer, json.loads(text.out)["result_hash"]

    def read(self, name: str, damaged: bytes, *, strict: bool = True) -> str:
        """Outcome of reading: "refused", or "right".

        Unless it is strict, for damage that no seal can see, also "told" (status 1), or "taken" as
        if it were what was written.
        """
        self.path.write_bytes(damaged)
        answer, result = self.summary(name)
        answer.check(*((0, 2) if strict else (0, 1, 2)))
        left = {path.name for path in self.folder.iterdir() if ".meanfield-" in path.name}
        assert not left, left
        if answer.status == 2:
            assert self.path.read_bytes() == damaged
            assert self.path.name in answer.err, answer.err
            return "refused"
        if answer.status == 1:
            return "told"
        wanted, hashed = self.expected[name]
        right = (answer.out, result) == (wanted.out, hashed)
        assert right or not strict, name
        return "right" if right else "taken"


def reader(commands, file, folder, without=(), only=None):
    """Reader that has seen the whole file with every command, but some, or with some only."""
    result = Reader(commands, file, folder, {})
    for name in only or ("load", *readers(file, folder)):
        if name not in without:
            result.path.write_bytes(file.content)
            result.expected[name] = result.summary(name)
            result.expected[name][0].check(0)
    return result
