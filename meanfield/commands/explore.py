"""`meanfield explore`: sliders, growth rates and a live run, in the browser."""

from __future__ import annotations

import argparse
import tempfile
import threading
import webbrowser
from contextlib import ExitStack
from pathlib import Path

from meanfield.commands.streams import say
from meanfield.explore.server import ExploreServer, warm_up


def execute(options: argparse.Namespace) -> int:
    """Serve the page until an interrupt, which ends the command as it ends others."""
    with ExploreServer(options.port) as server, ExitStack() as stack:
        print(server.address, flush=True)
        say("explore: loading kernels (up to a minute the first time); Ctrl-C ends the page")
        warming = threading.Thread(
            target=warm_up, args=(server.turns, lambda text: say(f"explore: {text}")), daemon=True
        )
        warming.start()
        if not options.no_open:
            _open_browser(server.address, stack)
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            server.turns.close()
    return 0


def _open_browser(address: str, stack: ExitStack) -> None:
    """Open a private file that leads to the address: `ps` shows command lines to every user."""
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="meanfield-"))
        page = Path(folder, "explore.html")
        page.touch(mode=0o600)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', "ascii")
    except OSError as error:
        say(f"explore: no temporary file for the browser ({error.strerror}): open the address.")
        return
    # A browser of text would keep the terminal, and this thread, for itself.
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
