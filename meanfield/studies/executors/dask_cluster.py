"""An existing Dask cluster as an executor: more than one machine for studies of many runs.

If a worker is lost, the scheduler runs its tasks on another one. Every task contains its seed, so
the result is the same.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
)
from contextlib import contextmanager, suppress
from typing import Any

from meanfield.engines.threads import set_threads

_CONNECT_SECONDS = 5.0
_SECONDS_BETWEEN_LOOKS = 2.0


@contextmanager
def scheduler_pool(address: str, notice: Callable[[str], None] | None = None) -> Iterator[Executor]:
    """Executor of the workers of an existing Dask cluster, with one thread for each task.

    The end of the block cancels tasks that have not begun; the cluster goes on.

    address: of the scheduler, such as "tcp://192.168.0.2:8786". notice: called with a message when
    the cluster has no workers, so that tasks wait, and when it has some again.
    """
    try:
        import distributed
    except ImportError:
        raise ValueError("Dask is not installed: pip install distributed.") from None
    with _silence(), _connected(address) as client:
        check_versions(client.run(version, on_error="return"))
        ended = threading.Event()
        if notice is not None:
            threading.Thread(target=_watch, args=(client, notice, ended), daemon=True).start()
        try:
            yield _Cluster(client)
        except (CancelledError, distributed.comm.CommClosedError):
            reason = "the Dask scheduler is gone, or cancelled the tasks"
            raise ConnectionError(errno.ECONNRESET, reason, address) from None
        except distributed.KilledWorker as error:
            reason = "took the same task and were lost, perhaps for lack of memory"
            count = error.allowed_failures + 1
            raise ChildProcessError(errno.ECHILD, f"{count} workers {reason}", address) from None
        finally:
            ended.set()


class _Cluster(Executor):
    """Executor that sends a function to the workers once, with its data.

    Dask's own `get_executor` reads a task's state after its result, and fails if the worker was
    lost in between.
    """

    def __init__(self, client: Any) -> None:
        import cloudpickle

        self._client = client
        # cloudpickle also sends functions of the main script.
        self._dumps = cloudpickle.dumps
        self._sent: dict[int, tuple[Any, Any]] = {}

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        data = self._dumps((args, kwargs))
        there = self._client.submit(call, version(), self._send(function), data, pure=False)
        here: Future[Any] = Future()

        def cancel(future: Future[Any]) -> None:
            if future.cancelled():
                loop.add_callback(self._client.cancel, [there], asynchronous=True)

        loop = self._client.loop
        here.add_done_callback(cancel)
        loop.add_callback(_deliver, self._client, there, here)
        return here

    def _send(self, function: Any) -> Any:
        """Send a function as the result of a task, which runs again if its worker is lost."""
        if id(function) not in self._sent:
            with warnings.catch_warnings():
                # Dask advises against large tasks; this one is sent once.
                warnings.simplefilter("ignore", UserWarning)
                data = self._dumps(function)
                there = self._client.submit(received, version(), data, pure=False)
            self._sent[id(function)] = (function, there)
        return self._sent[id(function)][1]


async def _deliver(client: Any, there: Any, here: Future[Any]) -> None:
    """Copy the result of a task on the cluster into its local future."""
    # The local future may have been cancelled meanwhile.
    with suppress(InvalidStateError):
        try:
            result = await client.gather(there, asynchronous=True)
        except (CancelledError, asyncio.CancelledError):
            here.cancel()
        except Exception as error:
            here.set_exception(error)
        else:
            here.set_result(result)


def received(expected: str, data: bytes) -> Any:
    """On a worker: the object that a client has sent."""
    check_versions({"that came late": version()}, expected)
    return pickle.loads(data)


def call(expected: str, function: Any, data: bytes) -> Any:
    """On a worker: the result of a task."""
    args, kwargs = received(expected, data)
    set_threads(1)
    return function(*args, **kwargs)


def version() -> str:
    """Version of meanfield in this process."""
    from meanfield.version import __version__

    return __version__


def check_versions(versions: dict[str, Any], expected: str | None = None) -> None:
    """Refuse workers with another version of meanfield, or without.

    versions: version or error of each worker. expected: by default the version of this process.

    >>> check_versions({"tcp://node:4000": "0.0.9"}, "0.1.0")
    Traceback (most recent call last):
    ...
    ValueError: worker tcp://node:4000 has meanfield 0.0.9, expected 0.1.0 as here: install it.
    """
    expected = expected or version()
    for worker, answer in versions.items():
        if isinstance(answer, Exception):
            raise ValueError(
                f"worker {worker} cannot load meanfield {expected}, which is needed there as here "
                f"({answer})."
            )
        if answer != expected:
            raise ValueError(
                f"worker {worker} has meanfield {answer}, expected {expected} as here: install it."
            )


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Client of a scheduler, closed at the end."""
    import distributed

    try:
        # A client would wait for ever if another kind of server answers.
        with ThreadPoolExecutor(1) as thread:
            kind = thread.submit(lambda: asyncio.run(_kind(address))).result()
    except TimeoutError:
        kind = "no answer"
    except Exception as error:
        # Dask's decoders fail in many ways on the bytes of another server.
        kind = str(error) or type(error).__name__
    if kind != "Scheduler":
        raise ValueError(
            f"no Dask scheduler at {address!r} ({kind}). Expected an address such as "
            "tcp://192.168.0.2:8786, which `dask scheduler` prints."
        )
    with warnings.catch_warnings():
        # Results depend on versions of meanfield only, which are checked.
        warnings.simplefilter("ignore")
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    with client:
        yield client


async def _kind(address: str) -> str:
    """Kind of server at an address."""
    from distributed import Security, rpc
    from distributed.comm import get_address_host_port

    get_address_host_port(address)
    arguments = Security().get_connection_args("client")
    if address.startswith("tls://") and arguments["ssl_context"] is None:
        raise ValueError("TLS needs certificates: set distributed.comm.tls in Dask's configuration")
    async with rpc(address, connection_args=arguments) as there:
        return str((await asyncio.wait_for(there.identity(), _CONNECT_SECONDS))["type"])


def _watch(client: Any, notice: Callable[[str], None], ended: threading.Event) -> None:
    """Give notice when all workers are lost, and when there are some again."""
    waiting = False
    while not ended.is_set():
        try:
            workers = len(client.nthreads())
        except Exception:
            # The scheduler is gone, or the client closes: waiting for results raises an error.
            return
        if waiting != (workers == 0) and not ended.is_set():
            waiting = workers == 0
            notice(
                "the Dask cluster has no workers: waiting for some (`dask worker`), Ctrl-C ends"
                if waiting
                else f"the Dask cluster has workers again ({workers})"
            )
        ended.wait(_SECONDS_BETWEEN_LOOKS)


@contextmanager
def _silence() -> Iterator[None]:
    """Keep Dask's log from standard error; exceptions and notices report what matters."""
    roots = ("distributed", "tornado")
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in roots]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
