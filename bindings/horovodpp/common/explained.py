# SPDX-License-Identifier: Apache-2.0
"""Completes the help() of public functions: many share arguments and errors.

    @explained(tensor="of any shape", returns="the sum", example="hvd.f(tensor)")
    def f(tensor, name=None):
        '''Does something.'''
"""
from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, Callable, Dict, Tuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_WIDTH = 88
_ARGUMENTS: Dict[str, str] = {
    "average": "Horovod's older form of `op`: True is Average, False is Sum.",
    "compression": "Compression.none, .fp16 or .bf16: the type in which floating-point tensors "
                   "are sent.",
    "handle": "the number that an _async function returned.",
    "name": "the name by which ranks match calls, equal on all ranks, and taken until the call is "
            "synchronized. Without a name, calls of this function match in their order.",
    "op": "hvd.Average, hvd.Sum, hvd.Min, hvd.Max, hvd.Product or hvd.Adasum; equal on all ranks. "
          "By default Average.",
    "postscale_factor": "multiplies the result, after the reduction.",
    "prescale_factor": "multiplies the input, before the reduction.",
    "process_set": "the ranks that take part, of which this rank is one. By default all.",
    "root_rank": "a rank of the job, also with a process set; equal on all ranks.",
}
_ON_THIS_RANK = ("an argument makes no sense on this rank, or the name is taken until its handle "
                 "is synchronized.")
_TYPE = "an argument is of another type, or the process set was not added."
_DISAGREE = "ranks disagree, for instance on the shape; or this rank is in no job, or has joined."
_BROKEN = "the job broke; the text names the rank and the reason."

OF_A_START: Dict[str, str] = {
    "ValueError": _ON_THIS_RANK, "TypeError": _TYPE,
    "InvalidCallError": "this rank is in no job, or has joined. Other errors come from "
                        "synchronize()."}
OF_A_CALL: Dict[str, str] = {
    "ValueError": _ON_THIS_RANK, "TypeError": _TYPE, "InvalidCallError": _DISAGREE,
    "HorovodInternalError": _BROKEN}
OUTSIDE_OF_A_JOB: Dict[str, str] = {"ValueError": "this process is in no job: call init() first."}


def explained(returns: str = "", raises: Dict[str, str] = OF_A_CALL, example: str = "",
              **arguments: str) -> Callable[[Function], Function]:
    """Adds the sections Args, Returns, Raises and Example to a function's or a class's text.

    arguments: texts of arguments; the others have those of all functions.
    """

    def complete(function: Function) -> Function:
        parts = [_with_example(inspect.cleandoc(function.__doc__ or ""))]
        names = [name for name in _parameters(function) if not _explains(parts[0], name)]
        if names:
            args = _section("Args", [
                (name, arguments[name] if name in arguments else _ARGUMENTS[name])
                for name in names])
            before, title, after = parts[0].partition("Args:\n")
            parts = [before + args + "\n" + after] if title else [parts[0], args]
        if returns:
            parts.append("Returns:\n" + textwrap.fill(returns, _WIDTH, initial_indent="    ",
                                                      subsequent_indent="    "))
        if raises:
            parts.append(_section("Raises", list(raises.items())))
        if example:
            parts.append("Example:\n" + textwrap.indent(inspect.cleandoc(example), "    "))
        function.__doc__ = "\n\n".join(parts) + "\n"
        return function

    return complete


def _with_example(text: str) -> str:
    """Puts "Example:" above the first block of code."""
    if "Example:" in text:
        return text
    parts = text.split("\n\n")
    for number, part in enumerate(parts):
        if all(line.startswith("    ") for line in part.split("\n")):
            parts[number] = "Example:\n" + part
            break
    return "\n\n".join(parts)


def _explains(text: str, name: str) -> bool:
    """Whether the section Args has a line for the argument."""
    arguments = text.partition("Args:\n")[2]
    return re.search(rf"^ +(\w+,\s+)*{name}(,\s+\w+)*: ", arguments, re.MULTILINE) is not None


def _parameters(function: Callable[..., Any]) -> Tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name != "self")


def _section(title: str, entries: Any) -> str:
    return title + ":\n" + "\n".join(
        textwrap.fill(f"{name}: {text}", _WIDTH, initial_indent="    ",
                      subsequent_indent="        ") for name, text in entries)
