# SPDX-License-Identifier: Apache-2.0
"""Keeps torch.compile out of functions that C++ calls while a compiled function runs."""
import types


def _codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes_of(constant)


def _functions_of(owner):
    for thing in vars(owner).values():
        if isinstance(thing, property):
            thing = thing.fget
        if isinstance(thing, types.FunctionType):
            yield thing
        elif isinstance(thing, type) and thing.__module__ == getattr(owner, "__name__", None):
            yield from _functions_of(thing)


def _skipper():
    """A function that tells Dynamo not to trace a code object; torch before 2.7 has another."""
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return lambda code: None
    if not hasattr(eval_frame, "set_code_exec_strategy"):
        return getattr(eval_frame, "skip_code", lambda code: None)
    skip = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP,
                                         eval_frame._FrameAction.SKIP)
    return lambda code: eval_frame.set_code_exec_strategy(code, skip)


def leave_untraced(*modules):
    skip = _skipper()
    for module in modules:
        for function in _functions_of(module):
            for code in _codes_of(function.__code__):
                skip(code)
