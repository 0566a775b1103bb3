# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

from horovodpp.data import AsyncDataLoaderMixin, BaseDataLoader


class Numbers(BaseDataLoader):
    def __init__(self, count, fails_at=None):
        self.count = count
        self.fails_at = fails_at

    def __len__(self):
        return self.count

    def _iterate(self):
        for number in range(self.count):
            if number == self.fails_at:
                raise OSError("the disk is gone")
            yield number

    def _process_batch(self, batch):
        return batch * 10


class AsyncNumbers(AsyncDataLoaderMixin, Numbers):
    pass


def test_gives_processed_batches():
    assert list(Numbers(3)) == [0, 10, 20] and len(Numbers(3)) == 3


@pytest.mark.parametrize("room", [0, 1, 64])
def test_gives_the_same_from_a_thread(room):
    loader = AsyncNumbers(async_loader_queue_size=room, count=10)
    for _ in range(2):
        assert list(loader) == [10 * number for number in range(10)]
    loader.close_async_loader()


def test_an_error_of_the_thread_is_raised_here():
    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        for batch in AsyncNumbers(count=5, fails_at=2):
            seen.append(batch)
    assert seen == [0, 10]


def test_no_thread_is_left_behind():
    before = threading.active_count()
    for batch in AsyncNumbers(async_loader_queue_size=2, count=1000):
        if batch == 50:
            break
    loader = AsyncNumbers(async_loader_queue_size=2, count=1000)
    iterator = iter(loader)
    next(iterator)
    loader.close_async_loader()
    iterator.close()
    assert threading.active_count() == before


def test_children_say_how():
    with pytest.raises(NotImplementedError):
        len(BaseDataLoader())
    with pytest.raises(NotImplementedError):
        list(BaseDataLoader())
