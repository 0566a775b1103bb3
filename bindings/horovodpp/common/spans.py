# SPDX-License-Identifier: Apache-2.0
"""Spans: how long a thread does some work, in the timeline."""
from __future__ import annotations

from typing import Iterable, Iterator, TypeVar

from horovodpp import _core
from horovodpp.common.explained import explained

Item = TypeVar("Item")


@explained(work="the text in the timeline.",
           raises={"TypeError": "`work` is no str."})
class span:
    """Shows in the timeline how long this thread does `work`.

        with hvd.span("forward"):
            loss = loss_of(model(x), y)
        for x, y in hvd.span("data").around(loader):  # Each wait for a batch.
            ...

    Use few different texts: each is stored for good. Spans of a thread nest. A span has no effect
    in a thread without a job.
    """

    def __init__(self, work: str) -> None:
        self._work = work

    def __enter__(self) -> span:
        _core.begin_span(self._work)
        return self

    def __exit__(self, *_: object) -> None:
        _core.end_span(self._work)

    def around(self, iterable: Iterable[Item]) -> Iterator[Item]:
        """Iterates over `iterable`, with a span around each wait for the next item."""
        with self:
            iterator = iter(iterable)
        while True:
            with self:
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item
