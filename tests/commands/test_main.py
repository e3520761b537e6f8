"""The command line as a whole: statuses, single lines, and what is loaded."""

import shlex
import signal
import subprocess
import sys

import pytest
from parameters import together

import meanfield
from meanfield.commands import main as command_line
from meanfield.commands import start
from meanfield.commands.arguments import COMMANDS, parser
from meanfield.commands.main import command_of, main
from meanfield.engines import threads
from meanfield.errors import SimulationError


def status_and_line(error, monkeypatch, capsys):
    def fail(arguments):
        raise error

    monkeypatch.setattr(command_line, "_run", fail)
    status = main([])
    captured = capsys.readouterr()
    assert captured.out == ""
    return status, captured.err


def test_working_folder_that_was_deleted_is_said(tmp_path, monkeypatch, capsys):
    """The user would look for an output that is missing."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    text = "meanfield: the working folder was deleted: change to another one.\n"
    assert status_and_line(FileNotFoundError(2, "No such file"), monkeypatch, capsys) == (1, text)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ValueError("x is\nwrong."), 2, "meanfield: x is wrong.\n"),
        (SimulationError(1.5, 3, "boom"), 1, "meanfield: boom (stopped at t = 1.5, step 3).\n"),
        (KeyboardInterrupt(), 130, "meanfield: interrupted\n"),
        (MemoryError(), 1, "meanfield: not enough memory for this run\n"),
        (OSError(28, "No space left", "f.h5"), 1, "meanfield: f.h5: No space left.\n"),
        (OSError("odd"), 1, "meanfield: output: odd.\n"),
        (FileNotFoundError(2, "No such file"), 1, "meanfield: output: No such file.\n"),
        (BrokenPipeError(), 0, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_failure_is_a_status_and_a_line(error, status, line, monkeypatch, capsys):
    """A script could not tell failures apart, or the user would see a traceback."""
    assert status_and_line(error, monkeypatch, capsys) == (status, line)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("x")], ids=["interrupt", "x"])
def test_handlers_of_the_caller_are_restored(error, monkeypatch, capsys):
    """A program that calls `main` could not be interrupted any more."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    status_and_line(error, monkeypatch, capsys)
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_mistake_of_ours_is_not_hidden(monkeypatch, capsys):
    """A bug would be reported to the user as bad input."""
    with pytest.raises(ZeroDivisionError):
        status_and_line(ZeroDivisionError(), monkeypatch, capsys)


@together(("line", "message"), [
    ("fly", "meanfield: 'fly' is not a command. See meanfield --help."),
    ("ensemble a.toml --tokens 9", "Did you mean --set ensemble.tokens=[9]? See"),
    ("rum", "meanfield: 'rum' is not a command. Did you mean run? See meanfield --help."),
    ("a.toml", "'a.toml' is not a command. Did you mean meanfield run a.toml? See"),
    ("run a.toml --resume b.h5", "b.h5. It takes one run file; --resume goes on with the output"),
    ("stability a.toml", "arguments: a.toml. Did you mean --config a.toml? See"),
    ("run a.toml problem.beta=3", "problem.beta=3. Keys of a run file are changed by --set"),
    ("run a.toml --tolerence", "--tolerence. Keys of a run file are changed by --set"),
    ("run a.toml --outptu=x.h5", "--outptu=x.h5. Did you mean --output? See"),
    ("--verison", "meanfield: unrecognized arguments: --verison. Did you mean --version? See"),
    ("run", "meanfield run: the following arguments are required: CONFIG.toml."),
    ("run x.toml --over",
     "meanfield run: unrecognized arguments: --over. Did you mean --overwrite? See"),
    ("run x --resume --overwrite", "meanfield run: argument --overwrite: not allowed"),
    ("run x --threads 0", "argument --threads: '0' is not a positive integer."),
    ("run x --threads two", "argument --threads: 'two' is not a positive integer."),
    ("stability --manifold circle --beta nan", "'nan' is not a finite number."),
    ("stability --manifold circle --beta x\ny", "'x\\ny' is not a finite number."),
    ("info x.h5 --json --csv", "argument --csv: not allowed with argument --json"),
])  # fmt: skip
def test_wrong_arguments_are_one_line(line, message, cli):
    """The user would see the usage of everything, or a traceback."""
    assert message in cli.refused(*line.split(" "))


def test_version_and_help(cli):
    """The first thing that a user tries would fail."""
    assert cli("--version") == f"meanfield {meanfield.__version__}\n"
    words = " ".join(cli("--help").split())
    assert all(name in words and summary in words for name, (summary, *_) in COMMANDS.items())


@pytest.mark.parametrize(
    ("words", "same"), [([], ["--help"]), (["help"], ["--help"]), (["help", "run"], ["run", "-h"])]
)
def test_help_comes_in_every_spelling(words, same, cli):
    """The first thing that a user tries would be a mistake."""
    output = cli(*words)
    assert output == cli(*same) and "Documentation: docs/commands.md" in output


@together("name", COMMANDS)
def test_everything_is_explained(name, cli):
    """An option without a word, an example that is refused, another summary than the function's."""
    top = parser()
    (commands,) = (action for action in top._actions if action.choices)
    for action in commands.choices[name]._actions:
        assert action.help, action.dest
    for example in COMMANDS[name].examples:
        assert top.parse_args(shlex.split(example)).command == name
    first = " ".join((command_of(name).__doc__ or "").split("\n\n")[0].split())
    assert first.lower() == f"{COMMANDS[name].summary}.".lower()
    assert cli(name, "--help").startswith(f"usage: meanfield {name} ")


def test_threads_beyond_reason_are_refused(monkeypatch, cli):
    """A slip would start a thousand threads that wait for each other."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    line = "stability --manifold circle --beta 3 --threads 999"
    assert cli.refused(*line.split()) == (
        "meanfield: --threads 999 is too many for 4 processors: give at most 64, or leave it out.\n"
    )


def test_bad_environment_is_reported_at_once(monkeypatch, cli, results, tmp_path):
    """A run would begin, write its output, and fail at the first step."""
    monkeypatch.setattr(threads, "_chosen", None)
    monkeypatch.setenv("MEANFIELD_THREADS", "many")
    said = cli.refused(*results.words("run", tmp_path / "x.h5"))
    assert "MEANFIELD_THREADS is 'many'" in said and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("line", "heavy"), [
    *[(line, "numpy scipy numba h5py meanfield.problem") for line in ("--version",
      "check --help", "phase --beta", "init none/x.toml")],
    *[(line, "numba h5py matplotlib scipy.integrate ducc0 ot tqdm xarray pandas") for line in
      ("stability --manifold sphere:4 --beta 3", "run nothing.toml")],
])  # fmt: skip
def test_commands_load_no_more_than_they_need(line, heavy):
    """Help, a slip of the pen, or five numbers would be answered after seconds."""
    code = (
        f"import sys\nfrom meanfield.commands.main import main\nmain({line.split()!r})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not {*done.stderr.splitlines()[-1].split()} & {*heavy.split()}


def test_reproduce_says_where_its_scripts_are(tmp_path, monkeypatch, cli):
    """An installed package would end in a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(start, "__file__", str(tmp_path / "meanfield/commands/start.py"))
    said = cli.refused("reproduce", "--list")
    assert "experiments/published of the source repository" in said
