# SPDX-License-Identifier: Apache-2.0
"""`horovod` as another name of horovodpp, for scripts that nobody wants to edit."""
import importlib
import importlib.abc
import importlib.util
import sys


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds horovod.x where horovodpp.x is."""

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
        """It was executed under its own name, which it keeps."""
        alias = module.__spec__.name
        module.__spec__ = self._own_specs.pop(alias)
        module.__loader__ = module.__spec__.loader


def install_as_horovod():
    """From here on `import horovod`, `import horovod.torch` and so on find horovodpp.

    A Horovod that is installed is not found any more. Raises ImportError if it was imported
    already.
    """
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    if "horovod" in sys.modules:
        raise ImportError("horovod was imported already: call horovodpp.install_as_horovod() "
                          "before anything that imports it")
    sys.meta_path.insert(0, _Alias())
