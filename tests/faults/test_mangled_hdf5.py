"""Files that are sound HDF5 with a fitting seal, and do not hold what they should."""

import io
import os
from collections import Counter

import h5py
import numpy as np
import pytest
from contents import changed, changes, put
from parameters import each
from readers import DEAR, WHAT


def count(result, some):
    """Make some of the changes, each seen by one of the readers in turn."""
    ends, names = Counter[str](), list(result.expected)
    for i, (what, change) in enumerate(changes(result.file.content)):
        if not some(i):
            continue
        try:
            content = changed(result.file.content, change, result.path)
        except (OSError, TypeError, ValueError, RuntimeError, KeyError):
            continue  # HDF5 does not make such a file
        name = names[(7 * i + i // 31) % len(names)]
        try:
            ends[result.read(name, content, strict=False)] += 1
        except AssertionError as error:
            raise AssertionError(f"{name} after {what}: {error}") from None
    return ends


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "every", "part"),
    [("density", 41, 0), ("comparison", 19, 0), *((n, 4, part) for n in WHAT for part in range(4))],
)
def test_wrong_contents_are_never_a_traceback(name, every, part, reader, survived):
    """A change of one dataset or attribute would end in a traceback, a hang, or a lost file."""
    ends = count(reader(name, *DEAR), lambda i: i % every == part)
    survived("wrong contents", WHAT[name], ends.total(), **ends)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["density", "particles", "auto", "sphere"])
def test_wrong_contents_are_no_figure_and_no_longer_run(name, reader, survived):
    """Contents that only figures and longer runs read would end in a traceback."""
    # They take seconds where the change does not matter.
    ends = count(reader(name, only=DEAR), lambda i: i % 37 == 0)
    survived("wrong contents", f"{WHAT[name]}, for figures and longer runs", ends.total(), **ends)


def elsewhere(kind, content, folder):
    other = folder / "other.h5"
    other.write_bytes(content)

    def change(file):
        times = file["time"][()]
        del file["time"]
        if kind == "link":
            file["time"] = h5py.ExternalLink(str(other), "/time")
        elif kind == "virtual":
            layout = h5py.VirtualLayout(times.shape, "f8")
            layout[:] = h5py.VirtualSource(str(other), "time", times.shape)
            file.create_virtual_dataset("time", layout)
        else:
            raw = folder / "raw"
            raw.write_bytes(times.tobytes())
            file.create_dataset("time", times.shape, "f8", external=[(str(raw), 0, times.nbytes)])

    return changed(content, change, folder / "changed.h5")


@each("name", ["density", "comparison"], kind=["link", "virtual", "raw"])
def test_numbers_of_another_file_are_refused(name, kind, reader, survived):
    """A checksum would vouch for numbers that it does not cover."""
    result = reader(name, only=("load",))
    assert result.read("load", elsewhere(kind, result.file.content, result.folder)) == "refused"
    survived("wrong contents", "numbers in another file", 1, refused=1)


def no_file(kind, path):
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind in ("link to nothing", "link to itself", "link to a device"):
        path.symlink_to(
            {"nothing": "none.h5", "itself": path.name, "device": "/dev/zero"}[kind.split()[-1]]
        )
    elif kind == "no permission":
        path.write_bytes(b"")
        path.chmod(0)
    elif kind != "nothing":
        path.write_bytes(KINDS[kind])


def foreign():
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file["time"], file["x/y"] = np.arange(3.0), "text"
    return content.getvalue()


KINDS = {
    "empty": b"",
    "text": b"time,energy\n0,1\n",
    "signature alone": b"\x89HDF\r\n\x1a\n",
    "zeros": bytes(5000),
    "foreign": foreign(),
    "foreign with a user block": bytes(512) + foreign(),
    "archive": b"PK\x03\x04" + bytes(100),
}
PLACES = ("nothing", "folder", "pipe", "link to nothing", "link to itself", "link to a device")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["density", "ensemble"])
def test_what_is_no_file_of_ours_is_refused(name, reader, survived):
    """A wrong name would be a traceback, a hang, or a foreign file overwritten."""
    result, cases = reader(name, *DEAR), 0
    for kind in (*KINDS, *PLACES, *([] if os.geteuid() == 0 else ["no permission"])):
        no_file(kind, result.path)
        for command in result.expected:
            # Nothing there, or nothing at the end of a link: --resume begins.
            if "resume" in command and "nothing" in kind:
                continue
            answer, _ = result.summary(command)
            answer.check(2)
            assert result.path.name in answer.err
            cases += 1
        if kind in KINDS:
            assert result.path.read_bytes() == KINDS[kind]
        (
            result.path.rmdir if kind == "folder" else result.path.unlink
        )() if kind != "nothing" else None
    survived("wrong contents", "no file of the package", cases, refused=cases)


@each(
    "version",
    [0, 99, -1, 2**62, "2", np.arange(2), 2.5],
    name=["density", "comparison", "ensemble"],
)
def test_other_format_is_refused_and_named(name, version, reader):
    """A file of a later version would be misread."""
    result = reader(name, only=("load",))
    key = {"density": ""}.get(name, f"{name}_") + "format_version"
    content = changed(result.file.content, lambda f: put(f["/"], key, version), result.path)
    assert result.read("load", content) == "refused"
