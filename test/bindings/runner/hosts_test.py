# SPDX-License-Identifier: Apache-2.0
import pytest

from horovodpp.runner.common.util import hosts, timeout


def test_hosts_are_parsed(tmp_path):
    assert hosts.parse_hosts("worker-0:2,10.0.0.1:3") == [
        hosts.HostInfo("worker-0", 2), hosts.HostInfo("10.0.0.1", 3)]
    for wrong in ("a", "a:b", "a:1,,b:1", ""):
        with pytest.raises(ValueError, match="Invalid host input"):
            hosts.parse_hosts(wrong)
    file = tmp_path / "hosts"
    file.write_text("# A comment.\na slots=2 max_slots=3\n\nb\n")
    assert hosts.parse_host_files(file) == "a:2,b:1"


def test_hosts_are_filled_in_order():
    places = hosts.get_host_assignments(hosts.parse_hosts("a:2,b:1,c:2"), 4, 4)
    assert [(p.hostname, p.rank, p.local_rank, p.cross_rank, p.size, p.local_size, p.cross_size)
            for p in places] == [("a", 0, 0, 0, 4, 2, 3), ("a", 1, 1, 0, 4, 2, 1),
                                 ("b", 2, 0, 1, 4, 1, 3), ("c", 3, 0, 2, 4, 1, 3)]
    assert places[3].to_response_string() == "3,4,0,1,2,3"
    with pytest.raises(ValueError, match=r"more processes \(6\) than there are available "
                                         r"slots \(5\)"):
        hosts.get_host_assignments(hosts.parse_hosts("a:2,b:1,c:2"), 6)


def test_a_deadline_passes():
    timeout.Timeout(1000, "").check_time_out_for("the hosts")
    with pytest.raises(timeout.TimeoutException, match="the hosts took more than -1 s"):
        timeout.Timeout(-1, "{activity} took more than {timeout} s").check_time_out_for("the hosts")
