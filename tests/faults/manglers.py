"""Run files that are valid, and what hands and machines make of them."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from typing import Any

import tomli_w

SMALL = """\
title = "small"
[problem]
manifold = "circle"
kernel = "exponential"
beta = 4.0
normalized = false
strength = 1.0
diffusivity = 0.0
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]]
[representation]
name = "auto"
tolerance = 1e-8
max_degree = 256
[time]
end = 1.0
unit = "scaled"
save = 5
[output]
path = "small.h5"
observables = ["energy", "entropy"]
state = "all"
[compare]
tokens = [10, 20]
runs = 2
metric = "W2"
seed = 3
"""

VALID = {
    "small": SMALL,
    "least": '[problem]\nnormalization = "none"\nmanifold = "circle"\nbeta = 1\n[time]\nend = 1\n',
    "linear": (
        '[problem]\nnormalization = "none"\nmanifold = "circle"\nkernel = "linear"\n'
        '[initial]\nname = "von_mises_fisher"\nconcentration = 2.0\nmean = 0.5\n'
        '[time]\nend = 2.0\nsave = [0.5, 1.0]\nstop = "one_cluster"\n'
    ),
    "zonal": (
        '[problem]\nmanifold = "circle"\nkernel = "zonal"\nmultipliers = [1.0, 0.2, 0.05]\n'
        'beta = 2.0\nnormalized = true\n[time]\nend = 3.0\nunit = "growth"\nsave = 4\n'
        'spacing = "log"\nfirst = 0.1\n'
    ),
    "mixture": (
        '[problem]\nnormalization = "none"\nmanifold = "circle"\nbeta = -3.0\nstrength = -1.0\n'
        '[initial]\nname = "mixture"\ncomponents = [{weight = 0.25, concentration = 3.0}, '
        "{weight = 0.75, mean = 2.0, concentration = 0.0}]\n"
        '[representation]\nname = "particles"\ntokens = 30\nseed = 2\n[time]\nend = 0.5\n'
    ),
    "atoms": (
        '[problem]\nnormalization = "none"\n'
        'manifold = "circle"\nbeta = 9.0\n[initial]\nname = "atoms"\n'
        "angles = [0.0, 1.0, -2.0]\nweights = [0.5, 0.25, 0.25]\n"
        '[time]\nend = 1.0\nunit = "paper"\n[output]\nstate = "last"\n'
    ),
    "sphere": (
        '[problem]\nnormalization = "none"\n'
        'manifold = "sphere"\nbeta = 5.0\n[initial]\nname = "perturbed_uniform"\n'
        "modes = [[2, -1, 0.1], [3, 0, 0.05]]\n[representation]\nmax_degree = 64\n"
        '[time]\nend = 1.0\n[compare]\nmetric = "sobolev"\n'
    ),
    "points": (
        '[problem]\nnormalization = "none"\n'
        'manifold = "sphere"\nbeta = 9.0\n[initial]\nname = "atoms"\n'
        "points = [[0, 0, 1], [1.0, 0, 2], [-3, 1, 0]]\nweights = [0.5, 0.25, 0.25]\n"
        "[time]\nend = 1.0\n"
    ),
    "heads": (
        '[problem]\nmanifold = "circle"\nbeta = 2.0\nnormalization = "softmax"\n'
        "[initial]\nmodes = [[2, 0.1, 0.0]]\n[time]\nend = 1.0\n"
        "[[heads]]\nscore = [[0.9, -0.4], [0.7, 0.5]]\nvalue = [1.0, -0.5]\n"
        "[[heads]]\nquery = 2.0\nkey = [[1, 0], [0, 1]]\nbeta = 0.5\n"
    ),
    "sampled": (
        '[problem]\nnormalization = "none"\n'
        'manifold = "circle"\nbeta = 5.0\n[initial]\nname = "sampled"\n'
        "tokens = 1000\nseed = 4\nmax_degree = 6\n[time]\nend = 1.0\n[output]\nobservables = []\n"
    ),
}
"""Name -> run file."""

# A zonal kernel costs 0.2 s of quadrature: it has its turn in the slow tests.
QUICK = sorted(set(VALID) - {"zonal"})

Mangler = Callable[[bytes, random.Random], bytes]

ODD_VALUES = [
    *["true", "false", "0", "1", "-1", "2", "3.0", "0.5", "-0.5", "-0.0", "1e5", "-40.0"],
    *["nan", "inf", "-inf", "1e400", "1e308", "-1e308", "1e-320", "5e-324", "9" * 19, "9" * 25],
    *["0x" + "f" * 5000, "0b1", "1_000", '"text"', '""', "''", '"\\u0000"', '"a\\nb"',
      '"\\u001b[2J"'],
    *['"\u00e4"', '"nine"', '"' + "long" * 500 + '"', '"../x.h5"', '"."', '"/"', '"nothing.npy"'],
    *["[]", "[[]]", "[1]", "[0, 1]", "[1, 0]", "[1e300]", "[[1, 2, 3]]", "[[1, 0.1, 0]]", '["a"]'],
    *["[true]", "[nan]", "[[1.5, 0, 0]]", "[[0, 1, 1]]", "[[-1, 1, 1]]", "[[1e9, 0.1, 0]]"],
    *["{}", "{a = 1}", "[{}]", "[{weight = 1}]", "[{weight = 1, concentration = -1}]"],
    *["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[" * 40 + "]" * 40],
    *['"density"', '"particles"', '"atoms"', '"characteristics"', '"zonal"', '"linear"', '"file"'],
    *['"tokens"', '"sampled"', '"uniform"', '"mixture"', '"growth"', '"log"', '"none"', '"sphere"'],
]  # fmt: skip
"""TOML values of every kind, some of which are right somewhere."""


def flipped(content: bytes, rng: random.Random) -> bytes:
    mangled = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        mangled[rng.randrange(len(mangled))] = rng.randrange(256)
    return bytes(mangled)


def reordered(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0 and len(lines) > 1:
            del lines[i]
        elif how == 1:
            lines.insert(j, lines[i])
        elif how == 2:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines[i] = lines[i][: rng.randrange(len(lines[i]) + 1)]
    return b"\n".join(lines)


def revalued(content: bytes, rng: random.Random) -> bytes:
    lines = content.decode().split("\n")
    keyed = [i for i, line in enumerate(lines) if " = " in line]
    for i in rng.sample(keyed, min(len(keyed), rng.randint(1, 3))):
        lines[i] = lines[i].split(" = ")[0] + " = " + rng.choice(ODD_VALUES)
    return "\n".join(lines).encode()


def moved(content: bytes, rng: random.Random) -> bytes:
    lines, others = content.split(b"\n"), rng.choice(list(VALID.values())).encode().split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(others))
    return b"\n".join(lines)


def tabled(change: Callable[[dict[str, Any], random.Random], None]) -> Mangler:
    def mangler(content: bytes, rng: random.Random) -> bytes:
        tables = tomllib.loads(content.decode())
        change(tables, rng)
        return tomli_w.dumps(tables).encode()

    return mangler


def some_table(tables: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    some = [each if isinstance(each, list) else [each] for each in tables.values()]
    return rng.choice([tables, *(each for many in some for each in many if isinstance(each, dict))])


def without(tables: dict[str, Any], rng: random.Random) -> None:
    for _ in range(rng.randint(1, 2)):
        table = some_table(tables, rng)
        if table:
            del table[rng.choice(list(table))]


def misspelt(tables: dict[str, Any], rng: random.Random) -> None:
    """Change the name of a key or section, as fingers do, or into one of another place."""
    table = some_table(tables, rng)
    if not table:
        return
    name = rng.choice(list(table))
    i = rng.randrange(len(name))
    other = rng.choice(list(some_table(tables, rng)) or ["x"])
    names = [name[:i] + name[i + 1 :], name[:i] + name[i] + name[i:], name.upper(), other]
    names += [name + " ", "\u00e4" + name, name + "\u200b", "", "\x00", name[::-1], "a.b"]
    table[rng.choice(names)] = table.pop(name)


def nested(tables: dict[str, Any], rng: random.Random) -> None:
    """Put a section into another one, or a value into a list or a table, as deep as one likes."""
    table = some_table(tables, rng)
    if not table:
        return
    name = rng.choice(list(table))
    value = table.pop(name)
    if isinstance(value, dict) and tables and rng.random() < 0.5:
        some_table(tables, rng)[name] = value
        return
    for _ in range(rng.choice([1, 2, 30])):
        value = [value] if rng.random() < 0.5 else {name: value}
    table[name] = value


def unusual(content: bytes, rng: random.Random) -> bytes:
    i, lines = rng.randrange(len(content) + 1), content.splitlines()
    odd = rng.choice([b"\x00", b"\xff", b"\xc3", b"\x1b[2J", b"\xe2\x80\xa8", b"\r", b"\\", b'"""'])
    encodings = [content.decode().encode(name) for name in ("utf-16", "utf-32", "utf-8-sig")]
    ends = [b"\r\n".join(lines), b"\r".join(lines), b"\n\n\n".join(lines), b" ".join(lines)]
    return rng.choice(
        [content[:i] + odd + content[i:], content * 2, content[:i], *encodings, *ends]
    )


MANGLERS: dict[str, Mangler] = {
    "bytes replaced": flipped,
    "lines deleted, doubled, swapped, cut": reordered,
    "odd values": revalued,
    "lines of other run files": moved,
    "keys and sections left out": tabled(without),
    "names misspelt": tabled(misspelt),
    "sections and values nested": tabled(nested),
    "other encodings and ends of lines": unusual,
}
"""What is done -> mangler."""
