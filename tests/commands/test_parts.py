"""Studies in parts, as the tasks of a job array make them, and what collects them."""

import pytest
from parameters import refused
from run_folder import digest

import meanfield as mf
from meanfield.store.locks import writer_lock
from meanfield.studies.parts import Part, part_of

STUDIES = ("compare", "ensemble", "diagram", "phase", "predict", "sweep")


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_parts_collect_to_the_study_of_one_process(results, tmp_path, cli, name):
    """A member would be made twice or never, draw other numbers, or go to another place."""
    path = tmp_path / ("parts" if name == "sweep" else "parts.h5")
    options = results.words(name, path)
    for part in ("3/4", "0/4", "2/4"):
        cli(*options, "--part", part)
    # Collected before all are there: what is missing is named.
    cli(*options, "--collect", status=1)
    assert "missing, of parts 1 of 4" in cli.err
    assert "interrupted" in mf.load(path).attributes["status"]
    cli(*options, "--part", "1/4")
    cli(*options, "--part", "1/4")
    cli(*options, "--collect")
    assert digest(path) == digest(results[name])
    cli(*options, "--resume")
    assert digest(path) == digest(results[name])


@pytest.mark.slow
def test_more_parts_than_members(results, tmp_path, cli):
    """Tasks without a member would fail, or leave a part that cannot be collected."""
    options = (*results.words("ensemble", tmp_path / "x.h5"), "--runs", 1)
    for i in range(4):
        cli(*options, "--part", f"{i}/4")
    cli(*options, "--collect")
    assert mf.load(tmp_path / "x.h5").finished.tolist() == [1, 1]


@pytest.mark.parametrize(("text", "environment", "part"), [
    ("7/10", {}, (7, 10)),
    ("auto", {"SLURM_ARRAY_TASK_ID": "30", "SLURM_ARRAY_TASK_MIN": "10",
              "SLURM_ARRAY_TASK_MAX": "50", "SLURM_ARRAY_TASK_STEP": "10",
              "SLURM_ARRAY_TASK_COUNT": "5"}, (2, 5)),
    ("auto", {"SGE_TASK_ID": "1", "SGE_TASK_FIRST": "1", "SGE_TASK_LAST": "8",
              "SGE_TASK_STEPSIZE": "1"}, (0, 8)),
    ("auto", {"SGE_TASK_ID": "undefined", "BATCH_TASK_INDEX": "3", "BATCH_TASK_COUNT": "9"},
     (3, 9)),
    ("auto", {"AWS_BATCH_JOB_ARRAY_INDEX": "3", "AWS_BATCH_JOB_ARRAY_SIZE": "9"}, (3, 9)),
    ("auto/100", {"SLURM_ARRAY_TASK_ID": "17", "SLURM_ARRAY_TASK_COUNT": "2"}, (17, 100)),
    ("auto/100", {"PBS_ARRAY_INDEX": "100"}, (0, 100)),
])  # fmt: skip
def test_task_finds_its_part(text, environment, part):
    """Tasks would make the same members, or leave some out."""
    assert part_of(text, environment) == Part(*part)


@pytest.mark.parametrize(("text", "environment", "message"), [
    ("3", {}, "takes I/M, auto or auto/M, got '3'"),
    ("-1/3", {}, "takes I/M, auto or auto/M"),
    ("3/3", {}, "I from 0 to M - 1, got 3/3"),
    ("0/0", {}, "needs M from 1"),
    ("auto/0", {"PBS_ARRAY_INDEX": "1"}, "needs M from 1"),
    ("auto", {}, "there is no job array here"),
    ("auto", {"PBS_ARRAY_INDEX": "1"}, "PBS_ARRAY_INDEX does not say how many tasks"),
    # Two tasks of a thousand that are sent again are no array of two.
    ("auto", {"SLURM_ARRAY_TASK_ID": "17", "SLURM_ARRAY_TASK_MIN": "3",
              "SLURM_ARRAY_TASK_MAX": "17", "SLURM_ARRAY_TASK_STEP": "1",
              "SLURM_ARRAY_TASK_COUNT": "2"}, "auto/M does"),
])  # fmt: skip
def test_part_that_is_none_is_refused(text, environment, message):
    """A task would make members of another."""
    refused(message, part_of, text, environment)


@pytest.mark.slow
def test_parts_of_other_studies_are_refused(results, tmp_path, cli):
    """Results of two studies would be mixed, or results would be lost."""
    path = tmp_path / "x.h5"
    arguments = results.words("ensemble", path)
    assert "holds no parts" in cli.refused(*arguments, "--collect")
    cli(*arguments, "--part", "0/2")
    for options, message in (
        (("--part", "0/2", "--overwrite"), "delete the folder of parts"),
        (("--part", "0/2", "--plot", tmp_path / "x.png"), "leave out --plot"),
        (("--part", "0/2", "--runs", "9"), "[ensemble] runs differs"),
        (("--collect", "--runs", "9"), "[ensemble] runs differs"),
        (("--collect", "--set", "ensemble.seed=3"), "seed"),
    ):
        assert message in cli.refused(*arguments, *options)
    moved = path.with_suffix(".parts") / "1-of-2.h5"
    moved.write_bytes((path.with_suffix(".parts") / "0-of-2.h5").read_bytes())
    assert "is part 0/2, expected part 1/2" in cli.refused(*arguments, "--collect")
    moved.unlink()
    # What one process made and the parts lack is not given up.
    cli(*arguments)
    assert "runs that the parts lack" in cli.refused(*arguments, "--collect")
    cli(*arguments, "--collect", "--overwrite", status=1)
    cli(*arguments, "--part", "2/3")
    assert "holds parts of 2 and of 3" in cli.refused(*arguments, "--collect")


@pytest.mark.parametrize("name", ["ensemble", "sweep"])
def test_second_writer_is_refused(results, tmp_path, cli, name):
    """A task that is started twice, or two collects, would tear a file in two."""
    path = tmp_path / ("x" if name == "sweep" else "x.h5")
    options = results.words(name, path)
    cli(*options, "--part", "0/2")
    folder, ending = (path / "parts", "json") if name == "sweep" else (tmp_path / "x.parts", "h5")
    with writer_lock(folder / f"0-of-2.{ending}"):
        assert "is being written by another process" in cli.refused(*options, "--part", "0/2")
    with writer_lock(path / "sweep.json" if name == "sweep" else path):
        assert "is being written by another process" in cli.refused(*options, "--collect")
