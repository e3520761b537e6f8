"""Finished results: neither replaced nor mixed with others, and resumed without work."""

import pytest

import meanfield as mf

MISTAKES = {
    "run": [("", "run.h5 exists: use --overwrite to replace it or --resume to go on")],
    "compare": [
        ("", "compare.h5 exists: use --overwrite to replace it or --resume to go on"),
        ("--resume --set problem.beta=6.0", "[problem] beta differs"),
        ("--resume --set time.end=5.0", "[time] end differs"),
        ("--resume --set compare.seed=1", "[compare] seed differs"),
        ("--resume --set compare.tokens=[5,30]", "[compare] tokens lacks 20"),
        ("--resume --set compare.runs=2", "[compare] runs = 2 is fewer than"),
    ],
    "ensemble": [
        ("", "ensemble.h5 exists: use --overwrite to replace it or --resume to go on"),
        ("--resume --runs 1", "[ensemble] runs = 1 is fewer than"),
        ("--resume --set ensemble.tokens=[60]", "[ensemble] tokens lacks 20, which"),
        ("--resume --set ensemble.times=[1.0]", "[ensemble] times differs from that of"),
        ("--resume --set problem.beta=6", "[problem] beta differs from that of"),
        ("--resume --set ensemble.representation=density",
         "[ensemble] representation differs from"),
        ("--resume --set representation.tolerance=1e-10",
         "[representation] tolerance differs from that of"),
    ],
    "diagram": [
        ("", "diagram.h5 exists"),
        ("--resume --seed 3", "has another seed: --resume may only add runs"),
        ("--resume --runs 2", "--runs 2 is fewer than the 7"),
    ],
    "predict": [
        ("--resume --runs 1", "--runs 1 is fewer than the 70"),
        ("--resume --beta 5", "has another beta"),
        ("--resume --seed 4", "has another seed"),
        ("--overwrite --runs 0", "there are none: give --runs N"),
        ("--overwrite --diffusivity 0.01", "diffusi"),
        ("--overwrite --strength -1", "nothing grows beyond degree 1"),
    ],
    "sweep": [
        ("", "holds a sweep: use --overwrite to replace it or --resume to go on"),
        ("--resume --set time.end=3", "[time] end differs from that of"),
        ("--resume --over problem.beta=1:3:2 --over problem.normalization=softmax,none",
         "--over problem.beta has other values than that"),
        ("--resume --over problem.strength=1,2 --over problem.normalization=softmax,none",
         "--over problem.strength, problem.normalization is not problem.beta, problem.norm"),
    ],
}  # fmt: skip


def content(path):
    return (path / "sweep.json" if path.is_dir() else path).read_bytes()


@pytest.mark.parametrize("name", MISTAKES)
def test_finished_result_is_not_replaced_or_mixed(results, name, cli):
    """Results of two problems would share a file, or a finished one be lost."""
    before = content(results[name])
    for line, message in MISTAKES[name]:
        words = results.words(name)
        if "--over " in line:  # in place of those that it has
            words = [name, results.config, "-o", results[name]]
        assert message in cli.refused(*words, *line.split()), line
        assert content(results[name]) == before, line


@pytest.mark.parametrize("name", MISTAKES)
def test_resume_of_a_finished_result_prints_it_and_runs_nothing(results, name, cli):
    """A report would be paid for again, or `print` show less of a study than its command."""
    before = content(results[name])
    words = [word for word in results.words(name) if word != "--quiet"]
    out = cli(*words, "--resume")
    assert "nothing to do" in cli.err
    if name in ("compare", "ensemble", "diagram", "sweep"):
        assert out == f"{mf.load(results[name])}\n"
    assert content(results[name]) == before
