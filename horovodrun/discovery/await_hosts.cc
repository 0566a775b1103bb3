// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/discovery/await_hosts.h"

#include <poll.h>
#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodrun/discovery/discovery_script.h"
#include "horovodrun/system/process.h"

namespace hvd::launcher {
namespace {

// The interval of polling for the end of a run, which may come after the end of
// its output.
constexpr std::chrono::milliseconds kRunPollInterval{10};

absl::Status too_few_slots(int slots, int least,
                           std::chrono::milliseconds timeout) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the discovery script (--host-discovery-script) has named ", slots,
      " slots, and the job needs ", least, ": they did not come within ",
      std::chrono::duration<double>(timeout).count(),
      " s (--elastic-timeout)"));
}

}  // namespace

absl::StatusOr<std::vector<Host>> await_hosts(
    const Discovery& discovery, int least, std::chrono::milliseconds timeout) {
  const Clock& clock = Clock::steady();
  const Clock::TimePoint end = clock.now() + timeout;
  DiscoveryScript script(discovery, clock.now());
  std::optional<int> slots;  // As the last run has named.
  bool is_told = false;      // To the user.
  for (Clock::TimePoint now = clock.now();; now = clock.now()) {
    reap_children(
        -1, [&](pid_t pid, int status) { script.child_ended(pid, status); });
    if (auto hosts = script.proceed(now)) {
      if (!hosts->ok()) return hosts->status();
      slots = slots_of(**hosts);
      if (*slots >= least) return **std::move(hosts);
    }
    if (slots && now >= end) return too_few_slots(*slots, least, timeout);
    if (slots && !is_told) {
      is_told = true;
      std::fputs(
          absl::StrCat("horovodrun: waiting for ", least,
                       " slots; the discovery script names ", *slots, "\n")
              .c_str(),
          stderr);
    }
    poll(nullptr, 0, static_cast<int>(kRunPollInterval.count()));
  }
}

}  // namespace hvd::launcher
