"""The server of `meanfield explore` in a thread, for tests of it and of its page."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from meanfield.explore.server import ExploreServer


@contextmanager
def serving() -> Iterator[ExploreServer]:
    with ExploreServer() as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.05,))
        thread.start()
        yield served
        served.turns.close()
        served.shutdown()
        thread.join()
