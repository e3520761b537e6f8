"""The server of `meanfield explore`: who may ask, what is answered, how it ends."""

import http.client
import json
import signal
import subprocess
import sys
import time

import pytest
from serving import serving

from meanfield.commands.main import main
from meanfield.explore.server import ExploreServer

FEW = "beta=2&tokens=20&length=0.1"


@pytest.fixture
def server():
    """A server in a thread."""
    with serving() as served:
        yield served


def get(server, path, host=None):
    """Status and body of an answer."""
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_only_who_knows_the_word_is_answered(server):
    """Another page, or another user of the machine, could have this one compute."""
    port, secret = server.server_address[1], server.secret
    assert server.server_address[0] == "127.0.0.1"
    assert get(server, f"/{secret}/")[0] == 200
    assert get(server, f"/{secret}/", host=f"localhost:{port}")[0] == 200
    # A name of somebody else that leads here, see DNS rebinding.
    assert get(server, f"/{secret}/", host=f"evil.example:{port}")[0] == 403
    for path in ("/", f"/{secret[:-1]}/", f"/{secret}x/run", "/run?beta=2", "/%C3%A9/"):
        assert get(server, path)[0] == 403, path
    assert get(server, f"/{secret}/../physics.py")[0] == 404
    # Without the last stroke the page would ask for its script elsewhere.
    assert get(server, f"/{secret}")[0] == 308


def test_answers_are_lines_of_json(server):
    """The page could not read them."""
    status, body = get(server, f"/{server.secret}/run?{FEW}")
    kinds = [json.loads(line)["kind"] for line in body.splitlines()]
    assert status == 200 and kinds[:3] == ["rates", "begin", "frame"] and "end" in kinds
    (line,) = get(server, f"/{server.secret}/run?beta=hot")[1].splitlines()
    assert json.loads(line)["kind"] == "refused"


def test_the_newest_ends_the_one_before(server):
    """A slider that moves would leave runs behind, each slower than the last."""
    port, began = server.server_address[1], time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/{server.secret}/run?manifold=sphere&tokens=5000&length=50")
    answer = connection.getresponse()
    assert json.loads(answer.readline())["kind"] == "rates"
    assert b'"end"' in get(server, f"/{server.secret}/run?{FEW}")[1]
    assert b'"end"' not in answer.read()
    # The first alone takes a minute.
    assert time.monotonic() - began < 20
    connection.close()


def test_a_port_that_is_taken_is_said(server, capsys):
    """The command would end with a traceback."""
    port = str(server.server_address[1])
    assert main(["explore", "--no-open", "--port", port]) == 2
    assert f"port {port} cannot be had: Address already in use." in capsys.readouterr().err
    assert main(["explore", "--port", "70000"]) == 2
    assert "70000 is above 65535" in capsys.readouterr().err


def test_its_port_is_free_again_at_once():
    """A page that was open would keep it for a minute."""
    with serving() as served:
        port = served.server_address[1]
        get(served, "/")
    with ExploreServer(port) as again:
        assert again.server_address[1] == port


def test_ctrl_c_ends_it_as_other_commands():
    """It would go on in the background, or end with a traceback."""
    words = [sys.executable, "-m", "meanfield", "explore", "--no-open"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        address = process.stdout.readline()
        assert address.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.splitlines()[-1] == "meanfield: interrupted" and "Traceback" not in told
