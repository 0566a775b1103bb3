// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/caller_state.h"

namespace hvd {

constinit thread_local CallerState caller_state{};

}  // namespace hvd
