// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/thread_start.h"

#include <pthread.h>
#include <signal.h>

#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/export.h"

namespace hvd {

HVD_EXPORT absl::StatusOr<std::thread> start_thread(
    const std::string& what, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::thread> thread;
  std::string failure;
  try {
    thread.emplace(std::move(body));
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (thread) return *std::move(thread);
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot start the thread that ", what, " (", failure,
      "); allow this user or container more of them (ulimit -u, pids.max), or "
      "run fewer programs"));
}

}  // namespace hvd
