// Whom the reason of a broken job takes for lost without having seen them die: ranks
// that did not answer, and those of a host that was not heard of any more. Who re-forms
// the job does not wait for them.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "horovodpp/core/topology.h"

namespace hvd::runtime {

// Ascending. `why` is the text of a job's status.
std::vector<int> suspects_in(absl::string_view why, const Topology& topology);

}  // namespace hvd::runtime
