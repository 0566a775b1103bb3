# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import horovodpp.torch as hvd

AS_HOROVOD = """
import horovodpp
horovodpp.install_as_horovod()
horovodpp.install_as_horovod()
import horovod
import horovod.torch as hvd
import horovodpp.torch
from horovod.common.exceptions import HorovodInternalError
from horovod.torch.mpi_ops import allreduce_async_
assert horovod is horovodpp and hvd is horovodpp.torch
assert hvd.__name__ == hvd.__spec__.name == "horovodpp.torch"
assert HorovodInternalError is hvd.HorovodInternalError
try:
    import horovod.tensorflow
except ImportError as error:
    assert "horovod" in str(error), error
else:
    raise AssertionError("there is no horovod.tensorflow")
"""
EVERY_MODULE = """
import horovodpp
horovodpp.install_as_horovod()
import importlib
for name, contents in %r.items():
    module = importlib.import_module(name)
    missing = [content for content in contents.split() if not hasattr(module, content)]
    assert not missing, (name, missing)
"""
# The names of Horovod 0.28 for PyTorch, except where docs/from_horovod.md says otherwise.
PUBLIC = {
    "horovod": "run __version__",
    "horovod.version": "__version__",
    "horovod.torch": "init shutdown rank size DistributedOptimizer Compression SyncBatchNorm "
                     "elastic broadcast_parameters broadcast_optimizer_state broadcast_object "
                     "allgather_object join barrier start_timeline ProcessSet",
    "horovod.torch.compression": "Compressor NoneCompressor FP16Compressor Compression",
    "horovod.torch.functions": "broadcast_parameters broadcast_optimizer_state broadcast_object "
                               "allgather_object",
    "horovod.torch.mpi_ops": "allreduce_async_ allgather broadcast_ alltoall reducescatter "
                             "grouped_allreduce_async_ grouped_allgather grouped_reducescatter "
                             "sparse_allreduce_async poll synchronize join barrier rocm_built "
                             "is_homogeneous mpi_threads_supported Average Sum Adasum "
                             "ProcessSet add_process_set remove_process_set global_process_set "
                             "HorovodInternalError HorovodAllreduce HorovodAllgather",
    "horovod.torch.optimizer": "DistributedOptimizer",
    "horovod.torch.sync_batch_norm": "SyncBatchNorm",
    "horovod.torch.elastic": "ElasticSampler ObjectState TorchState run",
    "horovod.torch.elastic.state": "TorchState StateHandler ModelStateHandler "
                                   "OptimizerStateHandler SamplerStateHandler "
                                   "get_handler_registry set_handler_registry",
    "horovod.torch.elastic.sampler": "ElasticSampler",
    "horovod.common": "",
    "horovod.common.basics": "init shutdown rank size HorovodBasics",
    "horovod.common.elastic": "State ObjectState run_fn",
    "horovod.common.exceptions": "HorovodInternalError HostsUpdatedInterrupt "
                                 "HorovodVersionMismatchError",
    "horovod.common.process_sets": "ProcessSet global_process_set add_process_set "
                                   "remove_process_set",
    "horovod.common.util": "mpi_built gloo_built nccl_built ddl_built ccl_built cuda_built "
                           "rocm_built extension_available gpu_available check_extension env "
                           "split_list is_iterable num_rank_is_power_2 check_installed_version",
    "horovod.data": "BaseDataLoader AsyncDataLoaderMixin",
    "horovod.data.data_loader_base": "BaseDataLoader AsyncDataLoaderMixin",
    "horovod.runner": "run",
    "horovod.runner.common": "",
    "horovod.runner.common.util": "",
    "horovod.runner.common.util.codec": "dumps_base64 loads_base64",
    "horovod.runner.common.util.env": "get_env_rank_and_size is_exportable",
    "horovod.runner.common.util.host_hash": "host_hash",
    "horovod.runner.common.util.hosts": "HostInfo SlotInfo parse_hosts parse_host_files "
                                        "get_host_assignments",
    "horovod.runner.common.util.network": "BasicService BasicClient NoValidAddressesFound "
                                          "find_port resolve_host_address",
    "horovod.runner.common.util.safe_shell_exec": "execute GRACEFUL_TERMINATION_TIME_S "
                                                  "terminate_executor_shell_and_children",
    "horovod.runner.common.util.secret": "make_secret_key compute_digest check_digest "
                                         "HOROVOD_SECRET_KEY",
    "horovod.runner.common.util.settings": "BaseSettings Settings",
    "horovod.runner.common.util.timeout": "Timeout TimeoutException",
    "horovod.runner.common.util.tiny_shell_exec": "execute",
    "horovod.runner.driver.driver_service": "HorovodRunDriverService HorovodRunDriverClient "
                                            "get_common_interfaces",
    "horovod.runner.elastic.discovery": "HostDiscovery HostDiscoveryScript FixedHosts HostManager",
    "horovod.runner.elastic.driver": "ElasticDriver",
    "horovod.runner.elastic.registration": "WorkerStateRegistry",
    "horovod.runner.elastic.rendezvous": "create_rendezvous_handler",
    "horovod.runner.elastic.settings": "ElasticSettings",
    "horovod.runner.elastic.worker": "HostUpdateResult WorkerNotificationManager",
    "horovod.runner.gloo_run": "gloo_run launch_gloo launch_gloo_elastic",
    "horovod.runner.http.http_client": "read_data_from_kvstore put_data_into_kvstore",
    "horovod.runner.http.http_server": "KVStoreHandler KVStoreServer RendezvousServer",
    "horovod.runner.js_run": "js_run",
    "horovod.runner.launch": "run_commandline",
    "horovod.runner.mpi_run": "mpi_run",
    "horovod.runner.util": "",
    "horovod.runner.util.network": "get_local_host_addresses filter_local_addresses "
                                   "get_driver_ip",
    "horovod.runner.util.threads": "in_thread on_event execute_function_multithreaded",
}
TOO_LATE = """
import sys, types
sys.modules["horovod"] = types.ModuleType("horovod")
import horovodpp
try:
    horovodpp.install_as_horovod()
except ImportError as error:
    assert "was already imported" in str(error)
else:
    raise AssertionError("it was accepted")
"""
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import horovodpp
try:
    import horovodpp.torch
except ImportError as error:
    assert "pip install torch" in str(error), error
else:
    raise AssertionError("it was imported")
"""


BASICS = """
import horovodpp
horovodpp.install_as_horovod()
from horovod.common.basics import HorovodBasics
basics = HorovodBasics("/a/file.py", "mpi_lib_v2")
basics.init()
assert (basics.rank(), basics.size(), basics.Sum) == (0, 1, horovodpp.Sum)
basics.shutdown()
assert not basics.is_initialized()
"""


def run_here(program):
    """Runs in a process that is not a rank."""
    if hvd.rank() == 0:
        subprocess.run([sys.executable, "-c", program], check=True)


def test_horovod_is_another_name():
    run_here(AS_HOROVOD)


def test_every_public_module_of_horovod_is_found():
    run_here(EVERY_MODULE % PUBLIC)


def test_basics_are_methods_too():
    subprocess.run([sys.executable, "-c", BASICS], check=True, env={
        name: value for name, value in os.environ.items()
        if not name.startswith(("HOROVOD", "OMPI_", "PMI")) or
        name == "HOROVODPP_MPI_MODULE"})


def test_a_horovod_that_was_imported_is_not_replaced():
    run_here(TOO_LATE)


def test_the_package_needs_no_torch():
    run_here(WITHOUT_TORCH)
