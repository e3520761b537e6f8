"""Tables of keys, and the JSON schema of run files."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from meanfield.runfile.keys import keys_of
from meanfield.runfile.schema import key_table, meanings, run_file_keys, run_file_schema
from meanfield.terms.flows import USUAL_NORMALIZATION

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("docs/*.md"), ROOT / "README.md"]
VALID = {"problem": {"manifold": "circle", "beta": 2}, "time": {"end": 1.0, "save": [0, 0.5]}}


def documents():
    texts = [path.read_text("utf-8") for path in ROOT.glob("experiments/**/*.toml")]
    for page in PAGES:
        texts += re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    return [document for document in map(tomllib.loads, texts) if "problem" in document]


def errors(document):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(run_file_schema())
    return [error.message for error in validator.iter_errors(document)]


def test_every_key_has_a_meaning():
    """A key would stand in the tables without a word, or a word without a key."""
    words, keys = meanings(), run_file_keys()
    assert words.keys() == keys.keys()
    assert all(words[section].keys() == keys[section].keys() for section in keys)


def test_table_has_type_default_and_words():
    """The page would promise a default or a value that the program does not take."""
    rows = key_table("compare").splitlines()
    assert rows[2].startswith("| `tokens` | list of integers | `[100, 1000, 10000]` | Sizes")
    assert '| `metric` | `"W1"`, `"W2"`, `"sobolev"`, `"mmd"` | `"W1"` |' in rows[4]
    assert '`"mean_cosine"`' in key_table("output") and "or string" in key_table("output")
    assert f'`"{USUAL_NORMALIZATION}"`, the default' in meanings()["problem"]["normalization"]


def test_schema_is_one_of_its_dialect():
    """Editors would refuse it, or ignore a word that is misspelt."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = run_file_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema


def test_descriptions_have_words_in_place_of_links():
    """An editor would show addresses of pages that it does not have, or lose brackets."""
    sections = run_file_schema()["properties"]
    assert "](" not in json.dumps(sections)
    words = sections["output"]["properties"]["observables"]["description"]
    assert '`["order_parameter", "energy", "clusters", "resolution"]`' in words
    assert sections["time"]["properties"]["end"]["description"].count("`[layers]`") == 1


@pytest.mark.slow
def test_schema_takes_every_run_file():
    """An editor would underline what is right, or ask for a name that is not needed."""
    result = [VALID, {**VALID, "initial": {"modes": [[1, 0.1, 0.0]]}}, *documents()]
    assert len(result) > 22
    assert not [message for each in result for message in errors(each)]


@pytest.mark.parametrize(
    ("section", "table"),
    [
        ("time", {"end": 1.0, "saves": 3}),
        ("time", {"end": "soon"}),
        ("time", {"end": 1.0, "save": [0, "x"]}),
        ("time", {"end": 1.0, "stop": "when done"}),
        ("problem", {"beta": 2}),
        ("problem", {"manifold": "torus", "beta": 2}),
        ("initial", {"name": "uniform", "modes": []}),
        ("initial", {"name": "sampled"}),
        ("initial", {}),
        ("initial", {"name": "mixture", "components": [{"weight": 1, "concentration": 2, "x": 0}]}),
        ("output", {"observables": ["energies"]}),
        ("heads", {"value": 1.0}),
        ("stages", [{"heads": [{"values": 1.0}]}]),
        ("tim", {"end": 1.0}),
    ],
)
def test_schema_refuses_what_is_wrong(section, table):
    """An editor would say nothing of a slip."""
    assert errors({**VALID, section: table})


def test_keys_after_a_slash_are_those_of_the_file():
    """Arguments of the program would look like keys."""

    def times(problem: str, /, end: float): ...

    assert [*keys_of(times)] == ["end"]


def test_command_prints_schema_and_tables(cli):
    """The shell would write something else into the file that editors read."""
    assert json.loads(cli("schema")) == run_file_schema()
    assert cli("schema", "initial.mixture") == key_table("initial.mixture") + "\n"
    assert cli("schema", "initial.uniform") == (
        "initial.uniform has no keys beside those of initial.\n"
    )
    assert "section tim is not known. Did you mean time?" in cli.refused("schema", "tim")
