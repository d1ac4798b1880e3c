"""Runs in the background: a few threads that take them in order. Started by the first one."""

from __future__ import annotations

import os
import queue
import threading

_lock = threading.Lock()
_queue: queue.SimpleQueue | None = None
_owner = 0  # the process whose threads serve the queue: a forked child starts its own
_THREADS = 2


def _serve(jobs: queue.SimpleQueue) -> None:
    while True:
        session, names, feed, callback, user_data, options = jobs.get()
        try:
            results, error = session.run(names, feed, options), ""
        except Exception as e:
            results, error = None, str(e)
        try:
            callback(results, user_data, error)
        except Exception as e:  # nobody could catch it
            import sys

            sys.excepthook(type(e), e, e.__traceback__)
        del session, feed, results, callback, user_data


def submit(session, names, feed, callback, user_data, options) -> None:
    global _queue, _owner
    with _lock:
        if _queue is None or _owner != os.getpid():
            _queue, _owner = queue.SimpleQueue(), os.getpid()
            for i in range(_THREADS):
                threading.Thread(target=_serve, args=(_queue,), name=f"sardonyx-async-{i}", daemon=True).start()
    _queue.put((session, names, feed, callback, user_data, options))
