# SPDX-License-Identifier: Apache-2.0
"""run()'s arguments, as options of horovodrun. None of these starts a job."""
import inspect

import pytest

import horovodpp
from horovodpp.runner import options

ARGUMENTS = inspect.signature(horovodpp.run).parameters


def of(**given):
    return {**{name: None for name in ARGUMENTS}, **given}


def test_the_arguments_are_horovods_in_its_order():
    assert list(ARGUMENTS)[:-1] == (
        "func args kwargs num_proc min_num_proc max_num_proc slots reset_limit cooldown_range "
        "hosts hostfile host_discovery_script start_timeout ssh_port ssh_identity_file "
        "disable_cache output_filename verbose use_gloo use_mpi mpi_args network_interface "
        "network_interfaces executable np min_np max_np").split()


@pytest.mark.parametrize("given, made", [
    ({}, "-np 1 --no-mpi"),
    ({"np": 3}, "-np 3 --no-mpi"),
    ({"num_proc": 3, "use_mpi": True}, "-np 3 --mpi"),
    ({"hosts": "a:2,b:2"}, "--hosts a:2,b:2"),
    ({"hosts": ["a:2", "b:2"], "num_proc": 4, "use_gloo": True},
     "-np 4 --hosts a:2,b:2 --no-mpi"),
    ({"hostfile": "hosts", "ssh_port": 23, "ssh_identity_file": "key", "start_timeout": 9,
      "output_filename": "logs", "verbose": 2},
     "--hostfile hosts --start-timeout 9 --ssh-port 23 --ssh-identity-file key "
     "--output-filename logs --verbose"),
    ({"hosts": "a:1", "network_interfaces": ["eth0", "ib0"]},
     "--hosts a:1 --network-interfaces eth0,ib0"),
    ({"hosts": "a:1", "network_interface": "eth0"}, "--hosts a:1 --network-interfaces eth0"),
    ({"min_np": 1, "max_num_proc": 4, "np": 2, "reset_limit": 3, "cooldown_range": (1, 9)},
     "-np 2 --min-np 1 --max-np 4 --reset-limit 3 --blacklist-cooldown-range 1 9 --no-mpi"),
    ({"host_discovery_script": "hosts.sh", "slots": 2, "use_gloo": True},
     "--slots-per-host 2 --host-discovery-script hosts.sh --no-mpi"),
])
def test_arguments_become_options(given, made):
    given = of(**given)
    options.check_arguments(given)
    assert " ".join(options.options_of(given)) == made


@pytest.mark.parametrize("given, text", [
    ({"num_proc": 2, "np": 2}, "num_proc and np are the same argument"),
    ({"hosts": "a:1", "hostfile": "hosts"},
     "Argument hosts and hostfile only allow one provided."),
    ({"use_gloo": True, "use_mpi": True},
     "Argument use_gloo and use_mpi only allow one set True"),
    ({"use_gloo": True, "mpi_args": "-x A"}, "leave out mpi_args"),
    ({"network_interfaces": "a", "network_interface": "b"}, "are the same argument"),
])
def test_arguments_that_exclude_each_other_are_refused(given, text):
    with pytest.raises(ValueError, match=text):
        horovodpp.run(print, **given)
