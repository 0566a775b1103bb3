# SPDX-License-Identifier: Apache-2.0
"""python -m horovodpp.run_task FOLDER: one rank of horovodpp.run()."""
import os
import pathlib
import pickle
import sys
import time
import traceback

from horovodpp.common.pickling import dumps


def _rank():
    for variable in ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
        if variable in os.environ:
            return int(os.environ[variable])
    return 0


def _leave(folder, name, value):
    """Writes a file atomically, even if this process ends early."""
    part = folder / f"{name}.part"
    part.write_bytes(value)
    part.rename(folder / name)


def _dumped(error):
    try:
        pickle.loads(dumps(error))
        return error
    except Exception:  # Exceptions may hold objects that cannot be pickled.
        return RuntimeError(f"{type(error).__name__}: {error}")


def main():
    folder = pathlib.Path(sys.argv[1])
    rank = _rank()
    try:
        function, args, kwargs = pickle.loads((folder / "function").read_bytes())
        result = dumps(function(*args, **kwargs))
    except BaseException as error:
        failure = (time.monotonic(), rank, _dumped(error), traceback.format_exc())
        _leave(folder, f"failure.{rank}", dumps(failure))
        raise
    _leave(folder, f"result.{rank}", result)


if __name__ == "__main__":
    main()
