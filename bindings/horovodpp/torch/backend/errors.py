# SPDX-License-Identifier: Apache-2.0
"""The library's errors in words that programs for torch.distributed look for."""
from horovodpp.common.exceptions import HorovodInternalError, InvalidCallError

_WORDS = ("timed out", "timeout", "closed")


class TimedOut(HorovodInternalError):
    """An operation did not end in the time of its group."""


def explained(error):
    """The error of an operation: for a lost rank, with the word "closed" behind the rank's name,
    and for a stalled one with "Timed out" before it."""
    text = str(error)
    if (not isinstance(error, HorovodInternalError) or isinstance(error, InvalidCallError)
            or any(word in text.lower() for word in _WORDS)):
        return error
    if "stalled" in text or "waited for" in text:
        return type(error)(f"Timed out: {text}")
    return type(error)(f"{text} (connection closed)")
