"""The server of `meanfield explore`: who may ask, what is answered, how it ends."""

import http.client
import json
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from serving import serving

from meanfield.commands.main import main
from meanfield.explore.server import ExploreServer

FEW = "beta=2&tokens=20&length=0.1"


@pytest.fixture
def server():
    with serving() as served:
        yield served


def get(server, path, host=None):
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
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


@pytest.mark.slow
def test_answers_are_lines_of_json(server):
    """The page could not read them."""
    status, body = get(server, f"/{server.secret}/run?{FEW}")
    kinds = [json.loads(line)["kind"] for line in body.splitlines()]
    assert status == 200 and kinds[:3] == ["rates", "begin", "frame"] and "end" in kinds
    (line,) = get(server, f"/{server.secret}/run?beta=hot")[1].splitlines()
    assert json.loads(line)["kind"] == "refused"


@pytest.mark.slow
def test_the_newest_ends_the_one_before(server):
    """A slider that moves would leave runs behind, each slower than the last."""
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", f"/{server.secret}/run?manifold=sphere&tokens=5000&length=50")
    answer = connection.getresponse()
    assert json.loads(answer.readline())["kind"] == "rates"
    assert b'"end"' in get(server, f"/{server.secret}/run?{FEW}")[1]
    assert b'"end"' not in answer.read()
    connection.close()


@pytest.mark.slow
def test_a_used_port_is_reported(server, cli):
    """The command would end with a traceback."""
    port = str(server.server_address[1])
    cli("explore", "--no-open", "--port", port, status=2)
    assert f"port {port} is in use. Choose another --port" in cli.err
    cli("explore", "--port", 70000, status=2)
    assert "70000 is above 65535" in cli.err


def test_many_connections_at_once_are_answered():
    """The system drops connections beyond the server's queue, and their pages stay empty."""
    with ExploreServer() as served, ExitStack() as stack:
        address = served.server_address
        # Nobody accepts yet, so that all of them wait in the queue.
        sockets = [
            stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(200)
        ]
        thread = threading.Thread(target=served.serve_forever, args=(0.05,))
        thread.start()
        for each in sockets:
            each.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answers = [each.recv(12) for each in sockets]
        served.shutdown()
        thread.join()
    assert answers == [b"HTTP/1.0 403"] * 200


def test_the_browser_gets_the_secret_in_a_private_file(monkeypatch, capsys):
    """`ps` shows the command line of the browser to every user of the machine."""
    opened = []
    has_opened = threading.Event()

    def open_browser(address):
        path = Path(url2pathname(urlsplit(address).path))
        opened.extend([address, path, stat.S_IMODE(path.stat().st_mode), path.read_text()])
        has_opened.set()

    def serve(server, poll_interval):
        has_opened.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", open_browser)
    monkeypatch.setattr("meanfield.explore.server.warm_up", lambda turns, say: None)
    monkeypatch.setattr(ExploreServer, "serve_forever", serve)
    assert main(["explore"]) == 130
    printed = capsys.readouterr().out.strip()
    address, path, mode, page = opened
    assert address.startswith("file://") and urlsplit(printed).path.strip("/") not in address
    assert f"url={printed}" in page
    assert mode == 0o600 and not path.exists()


def test_it_serves_without_a_temporary_folder(monkeypatch, capsys, tmp_path):
    """A missing folder for the browser's file would end a server that can do without."""

    def serve(server, poll_interval):
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr("meanfield.explore.server.warm_up", lambda turns, say: None)
    monkeypatch.setattr(ExploreServer, "serve_forever", serve)
    assert main(["explore"]) == 130
    assert "explore: no temporary file for the browser (No such" in capsys.readouterr().err


def test_its_port_is_free_again_at_once():
    """A page that was open would keep it for a minute."""
    with serving() as served:
        port = served.server_address[1]
        get(served, "/")
    with ExploreServer(port) as again:
        assert again.server_address[1] == port


@pytest.mark.slow
def test_ctrl_c_ends_it_as_other_commands():
    """It would go on in the background, or end with a traceback."""
    words = [sys.executable, "-m", "meanfield", "explore", "--no-open"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as process:
        address = process.stdout.readline()
        assert address.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300.0)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "meanfield: interrupted" and "Traceback" not in errors
