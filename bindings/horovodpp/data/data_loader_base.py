# SPDX-License-Identifier: Apache-2.0
"""Loaders that prepare batches in a thread.

    class Loader(AsyncDataLoaderMixin, MyLoader):
        ...                              # MyLoader derives from BaseDataLoader.

    for batch in Loader(async_loader_queue_size=8): ...
"""
from __future__ import annotations

import queue
import threading
from typing import Any, Iterable, Iterator

from horovodpp.common.spans import span


class BaseDataLoader:
    """A source of batches; derived classes define __len__ and _iterate."""

    def __len__(self) -> int:
        """The number of batches."""
        raise NotImplementedError

    def _iterate(self) -> Iterable[Any]:
        """Iterates over the batches."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        for batch in span("data").around(self._iterate()):
            yield self._process_batch(batch)

    def _process_batch(self, batch: Any) -> Any:
        """Converts a batch for the user; runs in the user's thread."""
        return batch


class _Failure:
    def __init__(self, error):
        self.error = error


class AsyncDataLoaderMixin:
    """Makes _iterate() run ahead in a thread. Must precede a BaseDataLoader among the bases.

    async_loader_queue_size: the most batches to prepare; 0: no thread.
    debug_data_loader: accepted as in Horovod.
    """

    _END = object()

    def __init__(self, async_loader_queue_size: int = 64, debug_data_loader: bool = False,
                 *args: Any, **kwargs: Any) -> None:
        self.async_loader_queue_size = async_loader_queue_size
        self.debug_data_loader = debug_data_loader
        self._running = None  # The thread, its queue, and the event that ends it.
        super().__init__(*args, **kwargs)

    def close_async_loader(self) -> None:
        """Ends the thread and waits for it. Prepared batches are dropped."""
        if self._running is None:
            return
        thread, prepared, end = self._running
        self._running = None
        end.set()
        while thread.is_alive():
            try:
                prepared.get(timeout=0.05)  # The thread may be waiting for room.
            except queue.Empty:
                pass
        thread.join()

    def _work(self, prepared, end):
        try:
            for batch in self._iterate():
                if end.is_set():
                    return
                prepared.put(batch)
            prepared.put(self._END)
        except Exception as error:
            prepared.put(_Failure(error))

    def __iter__(self):
        if self.async_loader_queue_size <= 0:
            yield from super().__iter__()
            return
        self.close_async_loader()
        prepared = queue.Queue(self.async_loader_queue_size)
        end = threading.Event()
        thread = threading.Thread(target=self._work, args=(prepared, end), daemon=True)
        running = self._running = (thread, prepared, end)
        thread.start()
        try:
            while True:
                with span("data"):
                    batch = prepared.get()
                if batch is self._END:
                    return
                if isinstance(batch, _Failure):
                    raise batch.error
                yield self._process_batch(batch)
        finally:  # Also if the loop is left early.
            if self._running is running:
                self.close_async_loader()
