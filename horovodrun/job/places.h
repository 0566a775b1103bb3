// SPDX-License-Identifier: Apache-2.0
// The places of an elastic job are the slots of its hosts. Each rank that stays
// takes a place on its host, members of the job before newcomers that wait, and
// older ranks before younger. Other ranks are displaced: the host is gone, or
// has fewer slots than before.
#pragma once

#include <vector>

#include "horovodrun/command_line/hosts.h"
#include "horovodrun/job/job_record.h"

namespace hvd::launcher {

struct Places {
  int taken = 0;
  std::vector<int> free{};       // Of each host.
  std::vector<int> displaced{};  // The numbers of these ranks.
};

Places places_of(const JobRecord& job, const std::vector<Host>& hosts);

}  // namespace hvd::launcher
