# SPDX-License-Identifier: Apache-2.0
"""Work: an operation in flight, as torch sees it."""
import threading

import torch
import torch.distributed as dist

from horovodpp.torch.backend import completions
from horovodpp.torch.backend.errors import TimedOut, explained


class Work(dist.Work):
    """An operation of a group, its outputs, and the memory that it uses.

    Thread-safe: the caller may wait while another thread completes the future.
    """

    def __init__(self, operation, record, timeout, outputs, finish=None, keep=None):
        """record: of records.py.

        finish: takes the operation's result and writes the outputs; None if they are written.

        keep: lives until the operation is done, besides `outputs`.
        """
        super().__init__()
        self.operation = operation
        self._record = record
        self.limit = timeout  # Seconds from the submission, for those who wait.
        self.outputs = outputs
        self.is_on_gpu = bool(outputs) and outputs[0].is_cuda
        self._finish = finish or None
        self._keep = keep
        self._lock = threading.Lock()
        self._error = None
        self._future = None

    def wait(self, timeout=None):
        """Waits until the outputs are written; raises the operation's error."""
        if self._error is None and self.operation is not None:
            if self.is_on_gpu and self._finish is None:
                self._order()
            else:
                self._complete(completions.seconds(timeout) or self.limit)
        if self._error is not None:
            raise self._error
        return True

    def _order(self):
        """Makes torch's current stream wait for the operation, and not the host."""
        operation = self.operation
        if operation is not None:
            operation.order(torch.cuda.current_stream(self.outputs[0].device).cuda_stream)

    def synchronize(self):
        self.wait()

    def block_current_stream(self):
        self.wait()

    def _complete(self, timeout):
        with self._lock:
            operation = self.operation
            if operation is None:
                return
            try:
                result = completions.wait(operation, timeout)
                if self._finish is not None:
                    self._finish(result)
            except KeyboardInterrupt:
                raise  # The operation is still in flight.
            except TimedOut as error:
                # Still in flight: its group keeps the memory.
                self._error = self._record.explained(error)
                return
            except Exception as error:
                self._error = explained(error)
            self._record.ended(self._error)
            self._finish = self._keep = None
            self.operation = None

    def fail(self, error):
        """Ends later waits for this work by `error`, while its operation goes on."""
        if self.operation is not None and self._error is None:
            self._error = error

    def fail_late(self, error):
        """fail() by a TimedOut."""
        self.fail(self._record.explained(error))

    def is_done(self):
        """Whether the operation no longer uses memory. Writes the outputs if nobody has."""
        operation = self.operation
        if operation is None:
            return True
        if not operation.poll():
            return False
        self._complete(None)
        return True

    def is_completed(self):
        return self._error is not None or self.is_done()

    def is_success(self):
        return self.is_completed() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        self.wait()
        return self.outputs

    def get_future(self):
        """A future of the outputs, which a thread completes while the program goes on."""
        if self._future is None:
            base = torch.futures.Future()
            # A failed future made by set_exception() would crash DDP, one made by then() does not.
            self._future = base.then(lambda _: self.result())
            completions.complete(self, base)
        return self._future


class Done(dist.Work):
    """The work of an operation that was waited for in its call."""

    def __init__(self, outputs=()):
        super().__init__()
        self._outputs = list(outputs)

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    is_success = is_completed

    def synchronize(self):
        pass

    def exception(self):
        return None

    def result(self):
        return self._outputs

    def get_future(self):
        future = torch.futures.Future()
        future.set_result(self._outputs)
        return future


class Several(dist.Work):
    """Works that are waited for as one."""

    def __init__(self, works):
        super().__init__()
        self._works = works

    def wait(self, timeout=None):
        for work in self._works:
            work.wait(timeout)
        return True

    def is_completed(self):
        return all(work.is_completed() for work in self._works)

    def synchronize(self):
        self.wait()

    def result(self):
        return [output for work in self._works for output in work.result()]

    def get_future(self):
        futures = torch.futures.collect_all([work.get_future() for work in self._works])
        return futures.then(lambda _: self.result())
