# SPDX-License-Identifier: Apache-2.0
"""Keeps torch.compile out of functions that run while a compiled function runs.

torch's engine calls some of them from C++. Compiled autograd, whose backward pass is a compiled
function, calls the hooks of gradients from there.
"""
import types

import torch


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


_skip = _skipper()
# torch 2.1 to 2.6 skip a function, but not its calls.
_NEEDS_WRAPPER = hasattr(torch, "compiler") and hasattr(torch.compiler, "disable") and \
    not hasattr(torch._C._dynamo.eval_frame, "set_code_exec_strategy")


def leave_untraced(*modules):
    """Keeps Dynamo out of the functions of these modules, and out of calls from them."""
    for module in modules:
        for function in _functions_of(module):
            for code in _codes_of(function.__code__):
                _skip(code)


def untraced(function):
    """Decorates a function that compiled code calls: the call breaks the graph.

    Does what torch.compiler.disable() does, without a wrapper, which would take time in each call.
    """
    if _NEEDS_WRAPPER:
        return torch.compiler.disable(function)
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = "it talks with other ranks"
    for code in _codes_of(function.__code__):
        _skip(code)
    return function
