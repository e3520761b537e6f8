"""Make docs/robustness.md of the outcomes of faults that `survived` has written.

    MEANFIELD_FAULTS=lines.jsonl python -m pytest tests/faults
    python tests/faults/report.py lines.jsonl

`make faults` does both. A line counts the faults of one kind that one test made, all of which ended
as they should; a test that fails writes a line, too, and is named at the top of the page.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import reporting

LIBRARIES = ("h5py", "numpy", "hypothesis")

SECTIONS = {
    "signals": "Runs and studies are killed, interrupted and stopped at random instants, and at "
    "every step of a write. The file is whole and holds the bits of an undisturbed run up to a "
    "saved time; resumed, it ends with all of them.",
    "resume": "Runs and studies are stopped after each saved time or result, and resumed.",
    "reading while writing": "A file is read again and again while a run or a study writes it.",
    "job arrays": "Many processes make the parts of one study. Some are killed and sent again, "
    "some are started twice, two collect at once: the study is that of one process, to the bit.",
    "exceptions": "Something fails inside: memory, the integrator, an observable.",
    "full disk": "No more than a given number of bytes can be written.",
    "damaged files": "Bytes of a file change behind the package's back, and every command that "
    "reads it is tried. *Refused*: one line, status 2, the file untouched. *Right*: what was "
    "damaged is not read, and the answer is that of the whole file to the last bit.",
    "wrong contents": "The file is sound HDF5 with a checksum that fits, and one dataset, "
    "attribute or group of it is not what it should be. *Refused* and *right* as above; *told*: "
    "`info` says that the numbers do not have the file's result hash; *taken*: what was put there "
    "is of the right kind and shape, and passes for what was written. Never a traceback.",
    "mangled input": "Run files and files of tokens as no hand would write them, and those that a "
    "hand might. *Valid*: a configuration whose times are finite and which its own text gives "
    "back; *refused*: one line that names the file, status 2.",
    "mangled command lines": "Numbers out of range, of other kinds, with units, too many or too "
    "few. *Answered*: status 0, and JSON without NaN where that was asked for; *refused*: one "
    "line, status 2; *failed*: one line, status 1, a study that cannot go on.",
    "closed streams": "Standard input, output and error are closed, full, or pipes that nobody "
    "reads. *Done*: status 0, as with open ones; *said*: one line and status 1, for what was "
    "printed is lost; *refused*: the status 2 of a wrong input, whether anyone can read why.",
}
"""Title of a section -> what stands below it, in the order of the page."""

PROMISES = """\
- A **run file** and the file of a study are whole at every instant. New rows go to a copy, the copy
  is sealed with a checksum and flushed to the disk, and only then renamed onto the file. Whatever
  ends the process, the file is that of the last flush or the one before.
- A file **belongs to one writer**: a second process that would write it is refused. Readers need
  no lock, for they see the old file or the new one.
- What is written is **the file that was written before**, or nothing: one that was moved, replaced
  or changed by another program meanwhile ends the run, and stays as it is. No link is followed, no
  file of another kind replaced.
- `--resume` **ends with the same bits** as a run that was never disturbed, on the same machine:
  the result hash says so.
- A file that was **damaged** is refused, not read: the checksum is compared before HDF5 sees it. A
  file that leads elsewhere, or claims more than it can hold, is refused before that is opened. A
  program that changes a file takes the seal away. From then on the file is taken as it is, and
  only what it holds is checked: that everything is there, of the right kind and shape.
- Wrong **input** is one line that names file, key and value, and status 2, before anything is
  computed or overwritten. Status 1 is a run that failed, and its file is valid up to there; 130 is
  an interrupt; 0 is done. No traceback, no hang, nothing lost."""


def rows(lines: reporting.Lines, section: str) -> list[list[object]]:
    result: list[list[object]] = []
    for what, cases in reporting.by_name(lines, section):
        ends = Counter[str]()
        for line in cases:
            ends.update(line["outcomes"])
        became = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in ends.items())
        places = ", ".join(sorted({reporting.place(line) for line in cases}))
        number = sum(line["cases"] for line in cases)
        result.append([reporting.heading(what), number, became or "survived", places])
    return result


def page(lines: reporting.Lines, docs: Path) -> str:
    """Text of the page.

    Raises
    ------
    ValueError
        If a line is of a section that the page does not have.
    """
    reporting.check_sections(lines, SECTIONS)
    built = sum(line["cases"] for line in lines if "cases" in line)
    result = reporting.failed_tests(lines) or "all ended as they should"
    parts = [
        "# Robustness",
        "What the package promises of its files and of its answers, and the faults that were made "
        "to see whether it keeps its word. Written by `make faults`, not edited by hand.",
        PROMISES,
        f"{built} faults: {result}. {reporting.origin(LIBRARIES, lines)}",
    ]
    columns = {"Fault": "l", "How many": "r", "What became of them": "l", "In `tests/`": "l"}
    for section, text in SECTIONS.items():
        values = rows(lines, section)
        if values:
            total = sum(int(str(row[1])) for row in values)
            parts += [f"## {section[0].upper()}{section[1:]}", f"{text} {total} in all."]
            parts.append(reporting.table(columns, values))
    return reporting.joined(parts)


if __name__ == "__main__":
    reporting.write_page(__doc__.splitlines()[0], "robustness.md", page)
