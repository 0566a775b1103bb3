# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.driver.driver_service. horovodrun itself tests the hosts' networks."""
from horovodpp.runner.missing import missing

_INSTEAD = ("horovodrun tests the hosts' networks itself; 'horovodrun --doctor' prints the result, "
            "and --network-interfaces chooses the interfaces")

HorovodRunDriverService = missing("driver.driver_service", "HorovodRunDriverService", _INSTEAD)
HorovodRunDriverClient = missing("driver.driver_service", "HorovodRunDriverClient", _INSTEAD)
get_common_interfaces = missing("driver.driver_service", "get_common_interfaces", _INSTEAD)
