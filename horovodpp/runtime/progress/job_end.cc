// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/job_end.h"

#include <chrono>
#include <exception>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

// Time limit for sending the news of a fault before this rank ends.
constexpr std::chrono::milliseconds kLastMessagesTimeout(100);

}  // namespace

JobEnd::JobEnd(const LoopParts& parts)
    : parts_(parts),
      out_of_memory_(absl::AbortedError(
          absl::StrCat(parts.topology.describe(parts.topology.rank()),
                       " has no memory left"))),
      out_of_memory_text_(out_of_memory_.message()) {}

absl::Status JobEnd::current_exception_status() const noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& e) {
    try {
      return absl::InternalError(
          absl::StrCat("the runtime failed (", e.what(), ")"));
    } catch (...) {
    }
  } catch (...) {
    try {
      return absl::InternalError("the runtime failed");
    } catch (...) {
    }
  }
  return out_of_memory_;
}

absl::Status JobEnd::break_down(const absl::Status& why) {
  const absl::Status reason = settle(why);
  notify_other_nodes(reason);
  return reason;
}

absl::Status JobEnd::break_down_after_throw() noexcept {
  absl::Status reason = out_of_memory_;
  try {
    reason = settle(current_exception_status());
    notify_other_nodes(reason);
  } catch (...) {
  }
  return reason;
}

absl::Status JobEnd::send_last_messages() {
  const auto give_up = steady_clock::now() + kLastMessagesTimeout;
  while (steady_clock::now() < give_up) {
    HVD_ASSIGN_OR_RETURN(const bool flushed, parts_.router.flush());
    if (flushed && !parts_.router.is_sending()) break;
    std::this_thread::yield();
  }
  return absl::OkStatus();
}

absl::Status JobEnd::settle(const absl::Status& why) {
  absl::Status reason;
  try {
    reason = publish(why);
  } catch (const std::bad_alloc&) {
    parts_.monitor.report(out_of_memory_text_);
    reason = out_of_memory_;
  }
  // Tell the launcher first: a caller that sees the error may end the process.
  if (parts_.recorder != nullptr && !std::exchange(is_recorded_, true)) {
    parts_.recorder->write(
        trace::EventKind::kJobBreaks,
        {.name = parts_.recorder->add_once(std::string_view(
             reason.message().data(), reason.message().size()))});
  }
  parts_.launcher.broken(reason);
  parts_.queue.close(reason);
  return reason;
}

absl::Status JobEnd::publish(const absl::Status& why) {
  const absl::Status known = parts_.monitor.verdict();
  if (!known.ok()) return known;
  // An Aborted error comes from a peer, and names it.
  const std::string text =
      absl::IsAborted(why)
          ? std::string(why.message())
          : absl::StrCat(parts_.topology.describe(parts_.topology.rank()), ": ",
                         why.message());
  parts_.monitor.report(text, suspects_of(why), failure_kind_of(why));
  const absl::Status reason = parts_.monitor.verdict();
  // Other ranks are about to publish the reason.
  if (!reason.ok()) return reason;
  return with_failure_kind(
      with_suspects(absl::AbortedError(text), suspects_of(why)),
      failure_kind_of(why));
}

void JobEnd::notify_other_nodes(const absl::Status& reason) {
  for (coordinator::Outgoing& mail : parts_.coordinator.break_mail(reason)) {
    // Best effort: the peer may be the rank that died.
    parts_.router.send(mail.to, std::move(mail.bytes)).IgnoreError();
  }
  send_last_messages().IgnoreError();
}

}  // namespace hvd::runtime
