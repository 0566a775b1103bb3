# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects to bytes."""
import pickle


def dumps(obj):
    """Uses cloudpickle if installed, which also pickles functions and classes of __main__."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(obj)
    return cloudpickle.dumps(obj)
