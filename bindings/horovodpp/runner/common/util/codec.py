# SPDX-License-Identifier: Apache-2.0
"""Objects as text, under the names of horovod.runner.common.util.codec."""
import base64
import pickle

from horovodpp.common.pickling import dumps


def dumps_base64(obj, to_ascii=True):
    """The pickled object in base64: a str, or bytes unless `to_ascii`."""
    encoded = base64.b64encode(dumps(obj))
    return encoded.decode("ascii") if to_ascii else encoded


def loads_base64(encoded):
    """The object of dumps_base64(). Unpickling runs code that the text names: give no stranger's."""
    return pickle.loads(base64.b64decode(encoded))
