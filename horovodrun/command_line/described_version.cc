// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/check_build.h"

namespace hvd::launcher {

// Alone in a source, because it changes with each commit.
const char* described_version() { return HVD_DESCRIBED_VERSION; }

const char* built_with_dnnl() { return HVD_BUILT_WITH_DNNL; }

}  // namespace hvd::launcher
