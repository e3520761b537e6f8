"""`meanfield explore`: sliders, growth rates and a live run, in the browser."""

from __future__ import annotations

import argparse
import threading
import webbrowser

from meanfield.commands.streams import say
from meanfield.explore.server import ExploreServer, warm_up


def execute(options: argparse.Namespace) -> int:
    """Serve the page until an interrupt, which ends the command as it ends others."""
    with ExploreServer(options.port) as server:
        print(server.address, flush=True)
        say("explore: Ctrl-C ends it; loading kernels, the first time on a machine for a minute")
        warming = threading.Thread(
            target=warm_up, args=(server.turns, lambda text: say(f"explore: {text}")), daemon=True
        )
        warming.start()
        if not options.no_open:
            # A browser of text would keep the terminal, and this thread, for itself.
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever(poll_interval=0.2)
        finally:
            server.turns.close()
    return 0
