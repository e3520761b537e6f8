"""Command lines that no one should type: an answer, or one line that says why not."""

import json
import random
from collections import Counter

import pytest
from parameters import together

SIZES = ["1e-300", "1e-30", "1e-9", "1e-3", "0.5", "2", "7.0", "40", "1e3", "1e5", "1e9", "1e300"]
NUMBERS = [*SIZES, *[f"-{size}" for size in SIZES], "0", "-0.0", "+3", "1e-320", "5e-324"]
# What Python takes for numbers.
NUMBERS += ["9" * 400, "1_0", "\u0663", "\uff11\uff12", "1e-400", ".5", "5."]
MODERATE = ["1", "2.5", "-3", "9", "40", "0", "1e-3"]
ODD = [
    *["nan", "-nan", "inf", "-inf", "infinity", "1e400", "0x10", "0b1"],
    *["1,5", "1e", "e5", "--5", "1/3", "1j", "true", "None", "[1]", "ten", "", " ", "4 K", "9rad"],
    *["1 2", "1,000", "\u221e", "1\n2", "\x1b[2J", "\udcff", "a" * 300, "$(id)"],
]
"""What is no number, or none that fits."""

WORDS = {
    "--manifold": ["circle", "sphere", "sphere:2", "sphere:3", "sphere:7", "sphere:1", "sphere:-3"],
    "--kernel": ["exponential", "linear", "zonal", "gauss", ""],
}
WORDS["--manifold"] += ["sphere:1e9", "sphere:99999999999", "torus", "", "Circle", "sphere:"]
COUNTS = ["1", "2", "10", "1000", "0", "-1", "1.5", "1e3", "1" + "0" * 30]
FLAGS = ["--normalized", "--json"]
OPTIONS = {
    "stability": ["--strength", "--diffusivity", "--max-degree", "--tokens"],
    "predict": ["--strength", "--diffusivity", "--tokens", "--samples", "--seed"],
    "phase": [],
}
"""Command -> options that take numbers, beyond manifold, kernel and beta."""

# Few samples, where the number is not the one that is mangled.
SMALL = {"predict": ["--samples", "20", "--runs", "0", "--tokens", "50"]}
UNITS = ["fortnight", "Scaled", "", "s", "scaled ", "GROWTH", "\u03b2"]
NAMES = {0: "answered", 1: "failed", 2: "refused"}


def value(option, rng):
    """Value of an option: right more often than not, or each command would be refused."""
    if option in WORDS:
        return rng.choice(WORDS[option] if rng.random() < 0.3 else WORDS[option][:2])
    if rng.random() < 0.15:
        return rng.choice(ODD)
    if option == "--samples":
        return rng.choice(COUNTS[:-1])
    if option in ("--max-degree", "--tokens", "--samples", "--seed"):
        return rng.choice(COUNTS)
    return rng.choice(NUMBERS if rng.random() < 0.5 else MODERATE)


def line(command, rng):
    chosen = ["--manifold", "--beta", *rng.sample(OPTIONS[command], min(len(OPTIONS[command]), 2))]
    if rng.random() < 0.2:
        chosen.append("--kernel")
    words = [command, *SMALL.get(command, [])]
    for option in chosen:
        words += [option, value(option, rng)]
    words += [flag for flag in FLAGS if rng.random() < 0.5]
    if rng.random() < 0.1:
        how = rng.randrange(4)
        if how == 0:
            del words[rng.randrange(1, len(words))]
        elif how == 1:
            words.insert(
                rng.randrange(1, len(words)), rng.choice(["--beta", "-x", "--", "--plot", "3"])
            )
        elif how == 2:
            words += words[-2:]
        else:
            rng.shuffle(words)
    return words


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def outcome(commands, words):
    answer = commands(*words)
    try:
        answer.check(0, 1, 2)
        if answer.status == 0 and "--json" in words and "--help" not in words:
            json.loads(answer.out, parse_constant=no_constant)
        assert answer.status != 0 or answer.out
    except AssertionError as error:
        raise AssertionError(f"{list(words)}: {error}") from None
    return NAMES[answer.status]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "first", "count"),
    [("stability", 0, 40), ("stability", 1000, 600), ("predict", 1000, 300), ("phase", 1000, 60)],
)
def test_odd_command_lines_are_answered_or_refused(command, first, count, commands, survived):
    """A slip of the keyboard would show a traceback, print what is no JSON, or never end."""
    seeds = range(first, first + count)
    ends = Counter(outcome(commands, line(command, random.Random(seed))) for seed in seeds)
    survived("mangled command lines", command, ends.total(), **ends)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "others"), [("stability", ()), *OPTIONS.items()])
def test_what_is_no_number_is_refused(command, others, commands, survived):
    """A number with a unit, or one that no computer has, would be taken for another."""
    options = ["--beta", *others]
    for option in options:
        beta = [] if option == "--beta" else ["--beta", "3"]
        for text in ODD:
            words = [command, "--manifold", "circle", *beta, f"{option}={text}"]
            assert outcome(commands, words) == "refused", words
    cases = len(ODD) * len(options)
    survived("mangled command lines", "what is no number", cases, refused=cases)


SETS = [
    *["x", "=", ".", "a.b", "time.end", "time..end=1", "a.b.c=1", ".end=1", "time.=1", "=1"],
    *["time=1", "time.end=", "time.end=1 s", "time.end=nan", "time.end=-1", "time.end=1e999"],
    *["time.end=[1]", "time.end='1'", "time.save=1e9", "time.save=0", "time.save=[2, 1]"],
    *["problem.beta=9 rad", "problem.beta=1e-320", "problem.beta=\udcff", "problem.beta=1\nend=2"],
    *["initial.modes=[", "initial.modes=" + "[" * 3000, "output.path=/dev/full", "output.path=''"],
    *[f"time.unit={unit}" for unit in UNITS if unit],
]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "check", "compare", "ensemble"])
def test_odd_settings_are_refused(command, commands, files, survived):
    """A slip in --set would be a traceback, or change something else than was meant."""
    cases = 0
    for text in SETS:
        # An ensemble has times of its own.
        if command == "ensemble" and text.startswith("output"):
            continue
        answer = commands(command, files.config, "--set", text)
        answer.check(2)
        cases += 1
    survived("mangled command lines", "--set", cases, refused=cases)


@pytest.mark.slow
@together(
    "words",
    [
        [""],
        ["rum"],
        ["run"],
        ["run", ""],
        ["run", "--overwrite", "--resume", "x.toml"],
        ["info"],
        ["info", ""],
        ["info", "x.h5", "--json", "--csv"],
        ["plot", "x.h5", "--kind", "nothing"],
        ["plot", "--kind"],
        ["plot", ""],
        ["init", ""],
        ["init", "/"],
        ["init", "a\0b"],
        ["init", "nowhere/x"],
        ["phase"],
        ["phase", "--manifold", "circle", "--beta", "3", "1", "5"],
        ["phase", "--manifold", "circle", "--beta", "1", "3", "0"],
        ["phase", "--manifold", "circle", "--beta", "1", "3"],
        ["ensemble", "x.toml", "--runs", "0"],
        ["ensemble", "x.toml", "--workers", "two"],
        ["compare", "x.toml", "--scheduler", ""],
        ["stability", "--manifold", "circle", "--beta", "2", "--plot", "x.exe"],
        ["predict", "--manifold", "circle", "--beta", "2"],
        ["predict", "--manifold", "circle", "--beta", "2", "--input", "/dev/zero"],
        ["--version=1"],
        ["-" * 500],
        ["run", "--threads", "0", "x.toml"],
        ["run", "--threads", "1e9", "x.toml"],
    ],
)
def test_wrong_command_line_is_one_line(words, commands, survived):
    """A command that is not one would be a traceback."""
    commands(*words).check(2)
    survived("mangled command lines", "wrong commands and options", 1, refused=1)
