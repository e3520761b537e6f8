"""`meanfield schema`: keys of run files: a JSON schema for editors, or a table of a section."""

from __future__ import annotations

import argparse
import json

from meanfield.errors import list_names
from meanfield.runfile.schema import key_table, run_file_keys, run_file_schema


def execute(options: argparse.Namespace) -> int:
    """Print the schema, or the keys of a section."""
    sections = [name for name, keys in run_file_keys().items() if keys]
    if options.section is None:
        print(json.dumps(run_file_schema(), indent=2))
    elif options.section in sections:
        print(key_table(options.section))
    else:
        raise ValueError(
            f"schema: section {options.section} is not known. "
            f"{list_names(options.section, sections)}"
        )
    return 0
