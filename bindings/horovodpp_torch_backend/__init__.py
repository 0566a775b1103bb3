# SPDX-License-Identifier: Apache-2.0
"""Makes torch know the backend "horovodpp" without importing horovodpp.

torch calls register() at each `import torch` (entry point torch.backends), and an exception here
would end that import. So this module is outside of the package, and imports the package only when
a program uses the backend.
"""
import importlib
import os

NAME = "horovodpp"

# Any of these says that a launcher other than torch's started this process as a rank.
_LAUNCHERS = ("HOROVODPP_RENDEZVOUS", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
              "PMI_SIZE")


def register():
    """Registers the backend, and lets env:// meet in a job of horovodrun. Never raises."""
    try:
        import torch.distributed as dist
        if not dist.is_available() or NAME in dist.Backend.backend_list:
            return
        dist.Backend.register_backend(NAME, _new_group, extended_api=True,
                                      devices=["cpu", "cuda"])
        _let_env_meet_in_a_job()
    except Exception as error:  # A torch that is newer than this file must stay importable.
        import warnings
        warnings.warn(f"The backend 'horovodpp' of torch.distributed is not available: {error}",
                      stacklevel=2)


def _new_group(options, _):
    from horovodpp.torch.backend.group import new_group
    return new_group(options)


def _let_env_meet_in_a_job():
    # As an attribute of torch.distributed, `rendezvous` is a function.
    handlers = importlib.import_module("torch.distributed.rendezvous")._rendezvous_handlers
    of_torch = handlers["env"]

    def meet(url, **options):
        if "MASTER_ADDR" in os.environ or not any(name in os.environ for name in _LAUNCHERS):
            return of_torch(url, **options)
        from horovodpp.torch.backend.job import meet_in_job
        return meet_in_job(url, options)

    handlers["env"] = meet
