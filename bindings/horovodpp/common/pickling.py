# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects to bytes."""
import importlib.util
import pickle


def dumps(obj):
    """Uses cloudpickle if installed, which also pickles functions and classes of __main__."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(obj)
    return cloudpickle.dumps(obj)


def is_of_main(function):
    """Whether another program could not load what dumps() makes of a function."""
    return getattr(function, "__module__", None) == "__main__" and \
        importlib.util.find_spec("cloudpickle") is None
