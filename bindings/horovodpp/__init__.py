# SPDX-License-Identifier: Apache-2.0
"""horovodpp: Horovod's programming model over a library in C++.

    import horovodpp.torch as hvd          # For PyTorch.
    horovodpp.install_as_horovod()         # `import horovod.torch` is ours from here on.
"""
from horovodpp._core import version as _version
from horovodpp.alias import install_as_horovod

__version__ = _version()
__all__ = ["__version__", "install_as_horovod"]
