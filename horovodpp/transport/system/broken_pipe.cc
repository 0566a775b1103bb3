// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/broken_pipe.h"

#include <signal.h>

namespace hvd::transport {

void ignore_broken_pipes() {
  struct sigaction action = {};
  if (::sigaction(SIGPIPE, nullptr, &action) != 0) return;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) {
    return;
  }
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace hvd::transport
