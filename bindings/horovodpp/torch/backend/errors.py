# SPDX-License-Identifier: Apache-2.0
"""The library's errors in words that programs for torch.distributed look for."""
from horovodpp.common.exceptions import HorovodInternalError, InvalidCallError

_WORDS = ("timed out", "timeout", "closed")


class TimedOut(HorovodInternalError):
    """An operation did not end in the time of its group."""


def timed_out(what, seconds):
    return TimedOut(f"{what} Timed out waiting {seconds * 1000:g}ms")


def explained(error):
    """The error of an operation, with " Timed out " before the text about a stalled rank, and
    " closed " before that about a lost rank."""
    text = str(error)
    if (not isinstance(error, HorovodInternalError) or isinstance(error, InvalidCallError)
            or any(word in text.lower() for word in _WORDS)):
        return error
    if "stalled" in text or "waited for" in text:
        return type(error)(f"the operation Timed out as {text}")
    return type(error)(f"a connection is closed because {text}")
