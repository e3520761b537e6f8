"""Files that were cut, flipped, zeroed, mixed up: refused in one line, or right to the last bit."""

import random
from collections import Counter

import pytest
from damage import DAMAGE
from readers import DEAR, WHAT


def count(result, mangler, cases, seed):
    """Damage a file in many ways, each for one of its readers in turn."""
    rng, ends = random.Random(seed), Counter[str]()
    names = list(result.expected)
    for i in range(cases):
        damaged = DAMAGE[mangler](result.file.content, rng)
        if damaged != result.file.content:
            ends[result.read(names[i % len(names)], damaged)] += 1
    return ends


@pytest.mark.slow
@pytest.mark.parametrize("name", ["density", "ensemble"])
def test_damaged_file_is_refused_or_right(name, reader, survived):
    """Damage would be a traceback, a crash, another number, or lost for good by going on."""
    result, ends = reader(name, *DEAR), Counter[str]()
    for seed, mangler in enumerate(DAMAGE):
        ends += count(result, mangler, 12, seed)
    survived("damaged files", f"file of {WHAT[name]}", ends.total(), **ends)


@pytest.mark.slow
@pytest.mark.parametrize("mangler", DAMAGE)
@pytest.mark.parametrize("name", WHAT)
def test_many_damaged_files_are_refused_or_right(name, mangler, reader, survived):
    """Rarer damage would be a traceback, a crash, another number, or lost for good."""
    ends = count(reader(name), mangler, 250, 1)
    what = f"{WHAT[name]}: {DAMAGE[mangler].__doc__.split(':')[0].rstrip('.').lower()}"
    survived("damaged files", what, ends.total(), **ends)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["particles", "comparison"])
def test_file_cut_at_every_length_near_its_end_is_refused_or_right(name, reader, survived):
    """A copy that stopped just before its end would be read as if it were whole."""
    result, ends = reader(name, only=("load",)), Counter[str]()
    for length in range(len(result.file.content) - 40, len(result.file.content)):
        ends[result.read("load", result.file.content[:length])] += 1
    # All but that which ends where HDF5's own file does, without the seal.
    assert ends == {"refused": 39, "right": 1}
    survived("damaged files", f"{WHAT[name]}: cut at each of its last 40 bytes", 40, **ends)


@pytest.mark.slow
@pytest.mark.parametrize("size", [512, 4096])
@pytest.mark.parametrize("name", ["density", "ensemble"])
def test_last_block_that_was_not_written_is_detected(name, size, reader):
    """The seal would be lost with the numbers before it, and their zeros be read."""
    result = reader(name, only=("load",))
    assert result.read("load", result.file.content[:-size] + bytes(size)) == "refused"
