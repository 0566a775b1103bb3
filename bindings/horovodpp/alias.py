# SPDX-License-Identifier: Apache-2.0
"""Makes `horovod` another name of horovodpp, for scripts that must not be edited."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds horovod.x at horovodpp.x."""

    def __init__(self):
        self._own_specs = {}

    def find_spec(self, name, path=None, target=None):
        if name != "horovod" and not name.startswith("horovod."):
            return None
        ours = "horovodpp" + name[len("horovod"):]
        if importlib.util.find_spec(ours) is None:
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        module = importlib.import_module("horovodpp" + spec.name[len("horovod"):])
        self._own_specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module):
        """Does nothing: the module was executed under its own name, which it keeps."""
        alias = module.__spec__.name
        module.__spec__ = self._own_specs.pop(alias)
        module.__loader__ = module.__spec__.loader


def install_as_horovod() -> None:
    """Makes `import horovod`, `import horovod.torch` and so on find horovodpp from now on.

    An installed Horovod is no longer found. Raises ImportError if horovod was already imported.
    """
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    if "horovod" in sys.modules:
        raise ImportError("horovod was already imported: call horovodpp.install_as_horovod() "
                          "before the first import of horovod")
    sys.meta_path.insert(0, _Alias())
