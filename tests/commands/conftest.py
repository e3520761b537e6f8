"""The run of a module, for all tests of commands."""

import pytest

from meanfield.commands.main import main


@pytest.fixture(scope="module")
def output(request, tmp_path_factory):
    """A run of the file that `TEXT` of the module says."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "small.toml").write_text(request.module.TEXT)
    assert main(["run", str(folder / "small.toml"), "--quiet"]) == 0
    return folder / "small.h5"
