# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

from horovodpp.runner.util.threads import (
    execute_function_multithreaded, in_thread, on_event)


def test_a_function_runs_in_a_thread():
    seen = []
    in_thread(seen.append, (5,), name="one").join()
    assert seen == [5]
    with pytest.raises(ValueError, match="give .argument,."):
        in_thread(seen.append, 5)


def test_an_exception_ends_the_thread_and_is_logged(caplog):
    in_thread(int, ("x",)).join()
    assert "invalid literal" in caplog.text
    caplog.clear()
    in_thread(int, ("x",), silent=True).join()
    assert caplog.text == ""


def test_a_function_waits_for_an_event():
    event, seen = threading.Event(), []
    thread = on_event(event, seen.append, (1,))
    assert seen == []
    event.set()
    thread.join()
    assert seen == [1]


def test_a_wait_for_an_event_can_be_stopped():
    stop, seen = threading.Event(), []
    thread = on_event(threading.Event(), seen.append, (1,), stop=stop, check_stop_interval_s=0.01)
    stop.set()
    thread.join()
    assert seen == []


def test_a_function_is_called_for_each_entry():
    assert execute_function_multithreaded(divmod, [(7, 2), (9, 4)]) == {0: (3, 1), 1: (2, 1)}
    assert execute_function_multithreaded(divmod, [], True) == {}
    with pytest.raises(ZeroDivisionError):
        execute_function_multithreaded(divmod, [(1, 0)])
    assert execute_function_multithreaded(divmod, [(1, 1)], block_until_all_done=False) is None
