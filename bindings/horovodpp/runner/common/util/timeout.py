# SPDX-License-Identifier: Apache-2.0
"""A deadline, under the name of horovod.runner.common.util.timeout."""
import time


class TimeoutException(Exception):
    """An activity has taken too long."""


class Timeout:
    """A deadline in `timeout` seconds. `message` may name the {activity} and the {timeout}."""

    def __init__(self, timeout, message):
        self._timeout = timeout
        self._ends = time.monotonic() + timeout
        self._message = message

    def remaining(self):
        """The seconds that are left, at least 0."""
        return max(0, self._ends - time.monotonic())

    def timed_out(self):
        """Whether the deadline has passed."""
        return time.monotonic() > self._ends

    def check_time_out_for(self, activity):
        """Raises TimeoutException with the message after the deadline."""
        if self.timed_out():
            raise TimeoutException(self._message.format(activity=activity, timeout=self._timeout))
