"""Tasks of a job array that are killed, sent again, started twice, or have no room."""

import errno
import random
import re
from collections import Counter

import pytest
from children import ask, command, traced, warm
from run_folder import SMALL, digest

CONFIG = SMALL + "ensemble = { tokens = [10, 20], runs = 1000 }\n"
PROCESSES = 40
ALONE = ["--workers", "1", "--threads", "1", "--quiet"]

pytestmark = [pytest.mark.slow, traced]


def study_of(name, members):
    over = ["--over", f"problem.beta=1:2:{members // 2}", "--over", "problem.diffusivity=0.1,0.2"]
    return [name, "run.toml", *(over if name == "sweep" else []), *ALONE], {"sweep": ""}.get(
        name, ".h5"
    )


def many(folder, commands, **faults):
    """Ends of commands, PROCESSES at a time; faults: number of the command -> when it is killed."""
    requests = [
        {"arguments": words, "folder": str(folder), "fault": {"after": faults[str(i)]}
         if str(i) in faults else {}}
        for i, words in enumerate(commands)
    ]  # fmt: skip
    return ask(requests=requests, processes=PROCESSES)


@pytest.mark.parametrize(("name", "tasks"), [("ensemble", 1000), ("sweep", 100)])
def test_array_whose_tasks_are_killed(tmp_path, survived, name, tasks):
    """A task would hold up or spoil what others made, or a member be lost or made twice."""
    (tmp_path / "run.toml").write_text(CONFIG)
    study, ending = study_of(name, tasks)
    warm(tmp_path, *study, "-o", "whole" + ending)
    options = [*study, "-o", "array" + ending]
    chance = random.Random(41)
    parts = [[*options, "--part", f"{i}/{tasks}"] for i in range(tasks)]
    # Some are started twice, next to each other. Of the others a tenth of all is killed, half of
    # these before they can do anything.
    twice = chance.sample(range(1, tasks), tasks // 20)
    commands = [words for i, words in enumerate(parts) for _ in range(1 + (i in twice))]
    once = [k for k, words in enumerate(commands) if commands.count(words) == 1]
    killed = chance.sample(once, tasks // 10)
    longest = command(tmp_path, *parts[0]).seconds * min(tasks, PROCESSES) / 8
    times = [0.0 if i % 2 else chance.uniform(0.0, longest) for i in range(len(killed))]
    ends = many(tmp_path, commands, **{str(k): t for k, t in zip(killed, times, strict=True)})
    statuses = Counter(status for status, _ in ends)
    assert set(statuses) <= {0, 2, -9} and statuses[-9] >= tasks // 20, statuses
    for status, said in ends:
        assert said == "" if status != 2 else "is being written by another process" in said, said
    # Two collect at once, before the killed tasks are sent again.
    collected = many(tmp_path, [[*options, "--collect"]] * 2)
    for status, said in collected:
        assert status in (1, 2) and said.count("\n") == 1 and "Traceback" not in said, said
    # What is missing is said as a job array takes it.
    missing = next(said for status, said in collected if status == 1)
    again = many(tmp_path, [parts[i] for i in numbers(re.search(r"of parts (\S+) of", missing)[1])])
    assert {status for status, _ in again} == {0}, again
    result = [status for status, _ in many(tmp_path, [[*options, "--collect"]] * 2)]
    assert set(result) <= {0, 2} and 0 in result
    assert digest(tmp_path / ("array" + ending)) == digest(tmp_path / ("whole" + ending))
    what = f"{name}: {tasks} tasks, {PROCESSES} at a time"
    outcomes = {"done": statuses[0], "killed": statuses[-9], "refused": statuses[2]}
    survived("job arrays", what, len(ends), **outcomes)


def numbers(array):
    """Numbers that Slurm's --array=3,17,20-22 names."""
    spans = [[int(end) for end in span.split("-")] for span in array.split(",")]
    return [number for span in spans for number in range(span[0], span[-1] + 1)]


@pytest.mark.parametrize("name", ["ensemble", "sweep"])
def test_parts_without_room(tmp_path, survived, name):
    """A full disk would cost a part, or what was collected."""
    (tmp_path / "run.toml").write_text(CONFIG.replace("runs = 1000", "runs = 4"))
    study, ending = study_of(name, 10)
    warm(tmp_path, *study, "-o", "whole" + ending)
    options = [*study, "-o", "array" + ending]
    ends = Counter()
    for words in (["--part", "0/2"], ["--part", "1/2"], ["--collect"]):
        # Calls are counted where the task has nothing to do but to look.
        calls = command(tmp_path, *options, *words, call=-1).calls
        for k in range(0, calls, max(1, calls // 8)):
            end = command(tmp_path, *options, *words, call=k, error=errno.ENOSPC)
            end.check(0, 1, 2)
            ends[end.status] += 1
        command(tmp_path, *options, *words).check(0)
    for limit in (0, 1, 4096):
        end = command(tmp_path, *options, "--collect", limit=limit)
        end.check(0, 1, 2)
        ends[end.status] += 1
    command(tmp_path, *options, "--collect").check(0)
    assert digest(tmp_path / ("array" + ending)) == digest(tmp_path / ("whole" + ending))
    survived("full disk", f"{name}: a part, and collecting", sum(ends.values()))
