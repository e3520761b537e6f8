"""A user's function from a Python file: what it may do, and what becomes of what it may not."""

import pickle
import sys

import numpy as np
import pytest
from parameters import refused

from meanfield.runfile import ConfigError, load_config, python_file
from meanfield.runfile.keys import located
from meanfield.runfile.python_file import Folder, file_function
from meanfield.terms.kernels import zonal

HEADER = "import numpy as np\n"
GOOD = HEADER + "def f(s):\n    return np.exp(s - 1)\n"


def function(folder, code, reference="k.py:f"):
    """Function of this code, made a kernel as a run file does it."""
    (folder / "k.py").write_text(code)
    return named(Folder(folder), reference)


def named(folder, reference):
    label = f'run.toml: [problem] attention = "{reference}"'
    result = file_function(label, folder, reference)
    with located(label):
        zonal(result)
    return result


def test_good_kernel_is_the_users_function(tmp_path):
    """Another kernel would run, integers break transforms, dataclasses fail to be looked up."""
    s = np.linspace(-1, 1, 7).reshape(7, 1)
    assert np.array_equal(function(tmp_path, GOOD)(s), np.exp(s - 1))
    ones = function(tmp_path, HEADER + "def f(s):\n    return np.ones(s.shape, int)\n")
    assert zonal(ones).attention(np.zeros(3)).dtype == np.float64
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass P:\n    a: float = 1.0\ndef f(s):\n    return P().a + 0 * s\n"
    )
    assert function(tmp_path, code)(np.zeros(2)).tolist() == [1.0, 1.0]


def test_kernel_is_plain_data(tmp_path):
    """Workers would execute a file that has changed since, or take equal kernels for two."""
    kernel = zonal(function(tmp_path, GOOD))
    sent = pickle.dumps(kernel)
    (tmp_path / "k.py").write_text("raise RuntimeError('another file')")
    sys.modules.pop("meanfield_user_k")
    python_file._executed.cache_clear()
    python_file._loaded.cache_clear()
    there = pickle.loads(sent)
    assert there.attention(np.zeros(1)) == np.exp(-1.0)
    assert there == kernel and hash(there) == hash(kernel)
    assert kernel != zonal(function(tmp_path, GOOD + "\n"))
    assert repr(kernel) == "zonal(k.py:f, beta=1.0, name='zonal')"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(s:\n", "failed: SyntaxError"),
        ("raise RuntimeError('no\\nway')\n", "failed: RuntimeError: no way"),
        ("import sys\nsys.exit(3)\n", "failed: SystemExit: 3"),
        ("exit()\n", "failed: SystemExit"),
        ("raise GeneratorExit\n", "failed: GeneratorExit"),
        ("class E(BaseException): pass\ndef f(s):\n    raise E('no')\n", "failed: E: no"),
        (GOOD + "np.exp = None\n", "replaces numpy.exp, which all of the run computes with"),
        ("import math\ndef f(s):\n    math.cos = len\n    return s\n", "replaces math.cos"),
        ("import nothing_of_that_name\n", "failed: ModuleNotFoundError"),
        ("g = 1\n", "failed: AttributeError"),
        ("f = 3\n", "is no function"),
        ("def f():\n    return 1\n", "failed: TypeError"),
        ("def f(s):\n    return 1 / 0\n", "failed: ZeroDivisionError"),
        ("def f(s):\n    return f(s)\n", "failed: RecursionError"),
        ("def f(s):\n    return 1.0\n", r"the kernel gave shape \(\) for .*: write a constant as"),
        ("def f(s):\n    return s[:2]\n", r"the kernel gave shape \(2,\)"),
        ("def f(s):\n    return s + 1j\n", "must give real numbers, got complex128: give np.real"),
        ("import math\ndef f(s):\n    return math.exp(s)\n", "takes single numbers only, .*np.exp"),
        ("def f(s):\n    return s > 0\n", "must give real numbers, got bool"),
        ("def f(s):\n    return ['a'] * len(s)\n", "must give real numbers, got <U1"),
        ("def f(s):\n    return None\n", "must give real numbers, got object"),
        (HEADER + "def f(s):\n    return np.log(s)\n", "gave values that are not finite"),
        (HEADER + "def f(s):\n    return 1 / (s - s)\n", "gave values that are not finite"),
    ],
)
def test_bad_kernel_is_one_line(tmp_path, code, message):
    """Whatever the user's code does would reach the user as our traceback."""
    with pytest.raises(ConfigError, match=message) as caught:
        function(tmp_path, code)
    assert str(caught.value).startswith('run.toml: [problem] attention = "k.py:f" ')
    assert str(caught.value).isprintable()


def test_what_the_user_prints_stays_off_standard_output(tmp_path, capsys):
    """One print would spoil the JSON of a command; code run unannounced, or close our streams."""
    function(tmp_path, "print('running')\n" + GOOD)
    text = f"meanfield: executing the Python of {tmp_path / 'k.py'}\nrunning\n"
    assert capsys.readouterr().err == text
    for code in ("print('loading')\n", "import sys\nsys.stdout.close()\nprint('loading')\n"):
        function(tmp_path, code + GOOD)
        captured = capsys.readouterr()
        assert captured.out == "" and "loading" in captured.err
    assert not sys.stderr.closed


@pytest.mark.parametrize("way", ["absolute", "above", "link"])
def test_code_elsewhere_needs_a_word(way, tmp_path, capsys):
    """A run file from a stranger would execute any Python file of the machine."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (tmp_path / "k.py").write_text("print('running')\n" + GOOD)
    (folder / "link.py").symlink_to(tmp_path / "k.py")
    file = {"absolute": f"{tmp_path}/k.py", "above": "../k.py", "link": "link.py"}[way]
    with pytest.raises(ConfigError, match="is Python outside the folder of the run file. Read it"):
        named(Folder(folder), f"{file}:f")
    assert "running" not in capsys.readouterr().err
    kernel = named(Folder(folder, "anywhere"), f"{file}:f")
    assert kernel(np.ones(1)).tolist() == [1.0]


@pytest.mark.parametrize("reference", ["k.py", "k.py:", ":f", "none.py:f", ".:f", ""])
def test_malformed_reference_is_refused(tmp_path, reference):
    """The user would not learn how to name a function."""
    message = 'must be "file.py:function" of an existing file'
    refused(message, function, tmp_path, GOOD, reference, error=ConfigError)


def test_answers_of_other_kinds_pass_unless_one_number_each_is_due(tmp_path):
    """An observable that answers three numbers would be refused as a kernel is."""
    (tmp_path / "k.py").write_text("def f(measure):\n    return [measure, 2]\n")
    function = file_function("observables", Folder(tmp_path), "k.py:f")
    assert function("points") == ["points", 2]
    assert pickle.loads(pickle.dumps(function)) == function


def test_other_files_are_no_kernels(tmp_path):
    """A data file given as a kernel would show the import machinery."""
    (tmp_path / "k.txt").write_text(GOOD)
    refused("is no Python file", named, Folder(tmp_path), "k.txt:f", error=ConfigError)


def test_a_file_is_executed_once_for_all_its_functions(tmp_path, capsys):
    """It ran at every call beyond 8 functions, and functions of a file counted apart."""
    code = "print('running')\ncalls = []\n"
    code += "".join(f"def f{i}():\n    calls.append({i})\n    return calls\n" for i in range(9))
    (tmp_path / "k.py").write_text(code)
    functions = [file_function("beta", Folder(tmp_path), f"k.py:f{i}") for i in range(9)]
    functions += [pickle.loads(pickle.dumps(functions[0]))]
    assert [function() for function in functions][-1] == [*range(9), 0]
    assert capsys.readouterr().err.count("running") == 1


def test_late_failure_is_one_line(tmp_path):
    """A kernel that fails at some similarities only would show a traceback in the middle."""
    kernel = function(tmp_path, "def f(s):\n    assert len(s) < 9000\n    return s\n")
    refused("failed: AssertionError", kernel, np.zeros(9000), error=ConfigError)


def test_kernel_file_does_not_shadow_modules(tmp_path):
    """A kernel in a file called numpy.py would break the program."""
    (tmp_path / "numpy.py").write_text("def f(s):\n    return s\n")
    named(Folder(tmp_path), "numpy.py:f")
    assert sys.modules["numpy"] is np


def test_kernel_that_is_not_smooth_is_refused_before_the_run(path):
    """The run would start with multipliers that are no kernel's."""
    path.with_name("k.py").write_text(HEADER + "def f(s):\n    return np.abs(s)\n")
    kernel = ["problem.kernel=zonal", "problem.attention=k.py:f"]
    message = r"\[problem\] attention = .* the kernel is not smooth"
    refused(message, load_config, path, kernel, error=ConfigError)
