"""Reading and overriding the TOML document."""

import copy
import os
import threading
from pathlib import Path

import pytest
from parameters import refused, together

from meanfield.runfile import ConfigError
from meanfield.runfile.config import ALL_KEYS
from meanfield.runfile.document import override, parsed, read_document


def written(folder, content):
    path = folder / "run.toml"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content", [b"a = 1\n", b"\xef\xbb\xbfa = 1\n", b"a = 1\r\n"], ids=["plain", "mark", "crlf"]
)
def test_editors_of_all_systems_are_understood(tmp_path, content):
    """A file saved by another editor would be refused."""
    assert read_document(written(tmp_path, content)) == {"a": 1}


def test_pipe_is_read(tmp_path):
    """A run file made on the fly, as by process substitution, would be refused."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a = 1\n",))
    writer.start()
    assert read_document(pipe) == {"a": 1}
    writer.join()


@pytest.mark.parametrize(("content", "message"), [
    pytest.param(b"a = \xff", "not a text file in UTF-8", id="bytes"),
    pytest.param(b"\x00\x01", "not valid TOML", id="nulls"),
    pytest.param(b"\x89HDF\r\n\x1a\n...", "holds results, expected a run file", id="results"),
    pytest.param(b"a = ", "not valid TOML: Invalid value", id="novalue"),
    pytest.param(b"a = 1\na = 2\n", "not valid TOML: Cannot overwrite", id="twice"),
    pytest.param(b"a = " + b"9" * 5000, "not valid TOML: Exceeds the limit", id="digits"),
    pytest.param(b"a = " + b"[" * 100_000, "not valid TOML: it nests too deeply", id="nested"),
    pytest.param(b"#" * (2**22 + 1), "larger than 4 MiB", id="huge"),
    pytest.param(b"a" + b".a" * 20000 + b" = 1",
                 "not valid TOML: it holds a key of more than 32 parts", id="dotted"),
    pytest.param(b"x = {" + b"'a b' ." * 40 + b"a = 1}", "a key of more than 32 parts",
                 id="quoted"),
])  # fmt: skip
def test_what_is_no_document_is_refused(tmp_path, content, message):
    """The user would see a traceback of the parser, or wait for ever."""
    refused(message, read_document, written(tmp_path, content), error=ConfigError)


def test_missing_file_and_folder_are_refused(tmp_path):
    """A wrong path would show a traceback."""
    message = r"nothing\.toml: No such file or directory: `meanfield init .*nothing\.toml` writes"
    refused(message, read_document, tmp_path / "nothing.toml", error=ConfigError)
    message = r"is a folder, expected a run file \(\.toml\)\."
    refused(message, read_document, tmp_path, error=ConfigError)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_endless_device_is_refused():
    """The program would fill the memory."""
    refused("/dev/zero is larger than 4 MiB", read_document, Path("/dev/zero"), error=ConfigError)


def test_dots_in_text_are_no_parts_of_a_key():
    """A title, a comment or a list of numbers would be refused."""
    dots = "a." * 40
    text = f'title = "{dots}" # {dots}\nx = """{dots}\n"""\ny = \'{dots}\'\nz = [{"0.5, " * 40}]'
    assert parsed(text)["z"] == [0.5] * 40


@together("tables, argument", [
    ({"problem": {"normalization": "none"}}, "problem.normalized="),
    ({"time": {"end": 1.0}}, "time.until="),
    ({"time": {"until": 1.0}}, "time.end="),
    ({}, "layers.count="),
    ({}, "fluctuations.degree="),
    ({}, "heads="),
])  # fmt: skip
def test_removing_a_key_that_is_not_there_changes_nothing(tables, argument):
    """USA would become SA, a run lose its end, and a flow become layers."""
    before = copy.deepcopy(tables)
    override(tables, [argument], ALL_KEYS)
    assert tables == before
