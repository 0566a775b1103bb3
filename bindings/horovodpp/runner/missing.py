# SPDX-License-Identifier: Apache-2.0
"""Names of Horovod's launcher that have no counterpart here: imports work, calls do not."""


def missing(module, name, instead):
    """A class for horovod.runner's `name`. Calling it raises NotImplementedError with the way out.

    instead: a sentence that names the replacement.
    """

    def refuse(cls, *_, **__):
        raise NotImplementedError(f"horovod.runner.{module}.{name} is not part of horovodpp: "
                                  f"{instead}")

    return type(name, (), {"__new__": refuse, "__doc__": f"Not part of horovodpp: {instead}"})
