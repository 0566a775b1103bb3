# SPDX-License-Identifier: Apache-2.0
"""help() of every public name: what its arguments are, what it returns and raises, an example."""
import inspect
import re

import pytest

import horovodpp
import horovodpp.torch
import horovodpp.torch.elastic

MODULES = (horovodpp, horovodpp.torch, horovodpp.torch.elastic)
NAMES = [(module, name) for module in MODULES for name in module.__all__
         if callable(getattr(module, name)) and
         not (inspect.isclass(getattr(module, name)) and
              issubclass(getattr(module, name), Exception))]


def section(text, title):
    """The lines below "title:", or None."""
    found = re.search(rf"^{title}:\n((?:    .*\n|\n)+)", text + "\n", re.MULTILINE)
    return found and found.group(1)


@pytest.mark.parametrize("module, name", NAMES,
                         ids=[f"{module.__name__}.{name}" for module, name in NAMES])
def test_help_explains(module, name):
    thing = getattr(module, name)
    text = inspect.getdoc(thing)
    assert text and len(text.split()) > 2
    signature = inspect.signature(thing)
    names = [parameter for parameter in signature.parameters if parameter != "self"]
    if not names:
        return
    explained = section(text, "Args")
    assert explained is not None
    for parameter in names:
        assert re.search(rf"^ +(\w+,\s+)*{parameter}(,\s+\w+)*: .", explained,
                         re.MULTILINE), parameter
    assert section(text, "Raises") is not None
    assert section(text, "Example") is not None
    if not inspect.isclass(thing) and signature.return_annotation not in (None, "None"):
        assert section(text, "Returns") is not None
