# SPDX-License-Identifier: Apache-2.0
"""Objects as bytes."""
import pickle


def dumps(obj):
    """By cloudpickle where it is installed, which knows functions and classes of __main__ too."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(obj)
    return cloudpickle.dumps(obj)
