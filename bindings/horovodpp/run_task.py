# SPDX-License-Identifier: Apache-2.0
"""python -m horovodpp.run_task: one rank of horovodpp.run()."""
import os
import pickle
import time
import traceback

from horovodpp import _core
from horovodpp.common.pickling import dumps
from horovodpp.runner import exchange


def _rank():
    """This rank's number: in an elastic job, that of its last job."""
    if _core.is_initialized():
        return _core.rank()
    for variable in ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
        if variable in os.environ:
            return int(os.environ[variable])
    return 0


def _dumped(error):
    try:
        pickle.loads(dumps(error))
        return error
    except Exception:  # Exceptions may hold objects that cannot be pickled.
        return RuntimeError(f"{type(error).__name__}: {error}")


def main():
    rank = _rank()
    try:
        function, args, kwargs = pickle.loads(exchange.ask("function"))
        result = dumps(function(*args, **kwargs))
        rank = _rank()
    except BaseException as error:
        failure = (time.time(), rank, _dumped(error), traceback.format_exc())
        exchange.ask("failure", rank, dumps(failure))
        raise
    exchange.ask("result", rank, result)


if __name__ == "__main__":
    main()
