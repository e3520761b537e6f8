"""Small results for tests of commands."""

from pathlib import Path

import pytest

from meanfield.commands.main import main

CONFIG = """\
title = "Small"
problem = { manifold = "circle", beta = 5.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[3, 0.0, 0.2]] }
time = { end = 4.0, save = 3 }
compare = { tokens = [5, 20], runs = 3 }
ensemble = { tokens = [20, 60], runs = 3 }
"""
COMMANDS = {
    "run": "small.toml",
    "compare": "small.toml --workers 1",
    "ensemble": "small.toml --workers 1",
    "sweep": "small.toml --over problem.beta=1:1.5:2 --over problem.normalization=softmax,none "
    "--workers 1",
    "diagram": "--tokens 6 --dimension 3 --beta 0.5 4 3 --until 4 --save 5 --runs 7 --score goe "
    "--workers 1",
    "phase": "--manifold circle --beta 2 4 5 --workers 1",
    "predict": "--manifold circle --beta 4 --tokens 50 --runs 70 --samples 9 --workers 1",
}


class Results:
    """Results by the name of their command, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.config, self._folder = folder / "small.toml", folder
        self.config.write_text(CONFIG)

    def words(self, name: str, path: Path | None = None) -> list[str]:
        """Command that makes a result, here or elsewhere."""
        options = COMMANDS[name].replace("small.toml", str(self.config)).split()
        return [name, *options, "--quiet", "-o", str(path or self._path(name))]

    def _path(self, name: str) -> Path:
        return self._folder / (name if name == "sweep" else f"{name}.h5")

    def __getitem__(self, name: str) -> Path:
        """Path of a finished result, which stays as it is."""
        if not self._path(name).exists():
            assert main(self.words(name)) == 0
        return self._path(name)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("results"))
