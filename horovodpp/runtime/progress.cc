#include "horovodpp/runtime/progress.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

// How long a rank sleeps at most where news may come from another node, which
// rings no bell: with work in flight, and without.
constexpr std::chrono::microseconds kBusyNap(100);
constexpr std::chrono::milliseconds kIdleNap(50);

// How long the news of a fault may take to leave a rank that ends because of
// it.
constexpr std::chrono::milliseconds kFarewell(100);

}  // namespace

Progress::Progress(const Parts& parts)
    : parts_(parts),
      waiting_(transport::WaitPolicy::for_node(parts.segment.local_size())),
      several_nodes_(parts.topology.node_count() > 1),
      active_at_(steady_clock::now()) {}

absl::Status Progress::run() {
  while (!ended()) {
    absl::StatusOr<bool> moved = turn();
    if (moved.ok() && !*moved) moved = doze();
    if (!moved.ok()) {
      const absl::Status reason = settle(moved.status());
      tell_other_nodes(reason);
      return reason;
    }
    if (*moved) active_at_ = steady_clock::now();
  }
  return say_goodbye();
}

void Progress::leave() {
  leave_requested_.store(true);
  parts_.segment.doorbell(parts_.segment.local_rank()).ring();
}

// Every rank has left. The root stays until its last words have found room:
// the others wait for them.
bool Progress::ended() const {
  const bool is_root =
      parts_.topology.rank() == coordinator::Coordinator::kRoot;
  return parts_.coordinator.closed() &&
         !(is_root && parts_.mailroom.has_unwritten());
}

absl::StatusOr<bool> Progress::turn() {
  HVD_RETURN_IF_ERROR(parts_.health.check());
  HVD_ASSIGN_OR_RETURN(const bool in, take_in());
  HVD_ASSIGN_OR_RETURN(const bool out, give_out());
  HVD_ASSIGN_OR_RETURN(const bool done, execute());
  return in || out || done;
}

absl::StatusOr<bool> Progress::take_in() {
  // Asked first: what was submitted before leave() is then among the requests.
  const bool leave = leave_requested_.load() && !leaving_;
  bool moved = false;
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<transport::Mail> mail,
                         parts_.mailroom.next());
    if (!mail) break;
    moved = true;
    HVD_RETURN_IF_ERROR(
        parts_.coordinator.receive(mail->from, std::move(mail->bytes)));
  }
  for (const coordinator::Request& request : parts_.queue.take_requests()) {
    moved = true;
    parts_.coordinator.submit(request);
  }
  if (leave) {
    moved = leaving_ = true;
    parts_.health.leaving();
    HVD_RETURN_IF_ERROR(parts_.coordinator.leave());
  }
  return moved;
}

absl::StatusOr<bool> Progress::give_out() {
  HVD_RETURN_IF_ERROR(parts_.coordinator.step());
  bool moved = false;
  for (coordinator::Outgoing& mail : parts_.coordinator.take_outgoing()) {
    moved = true;
    HVD_RETURN_IF_ERROR(parts_.mailroom.send(mail.to, std::move(mail.bytes)));
  }
  HVD_RETURN_IF_ERROR(parts_.mailroom.flush().status());
  const coordinator::Bells bells = parts_.coordinator.take_bells();
  ring(bells);
  return moved || bells.leader || bells.node;
}

void Progress::ring(coordinator::Bells bells) {
  if (bells.node) {
    parts_.segment.ring_others();
  } else if (bells.leader) {
    parts_.segment.doorbell(0).ring();
  }
}

absl::StatusOr<bool> Progress::execute() {
  bool moved = false;
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<coordinator::Batch> batch,
                         parts_.coordinator.next_batch());
    for (const coordinator::Failure& failure :
         parts_.coordinator.take_failures()) {
      moved = true;
      parts_.queue.fail(failure.name, failure.why);
    }
    if (!batch) return moved || parts_.coordinator.wants_step();
    moved = true;
    HVD_ASSIGN_OR_RETURN(std::vector<coordinator::Submission> submissions,
                         parts_.queue.take(batch->names));
    const absl::Status status = parts_.executor.run(*batch, submissions);
    if (!status.ok()) {
      const absl::Status reason = settle(status);
      for (auto& submission : submissions) submission.done(reason);
      return reason;
    }
  }
}

bool Progress::busy() const {
  return parts_.coordinator.has_in_flight() || leaving_;
}

std::chrono::nanoseconds Progress::patience(bool is_busy) const {
  std::chrono::nanoseconds patience(-1);
  const auto at_most = [&](std::chrono::nanoseconds limit) {
    limit = std::max(limit, std::chrono::nanoseconds(0));
    patience = patience.count() < 0 ? limit : std::min(patience, limit);
  };
  if (parts_.mailroom.is_sending()) at_most(kBusyNap);
  if (several_nodes_) {
    const bool leader = parts_.segment.local_rank() == 0;
    if (is_busy) {
      at_most(kBusyNap);
    } else if (leader) {
      at_most(kIdleNap);
    }
  }
  const auto now = steady_clock::now();
  if (const auto due = parts_.health.verdict_due()) at_most(*due - now);
  if (const auto due = parts_.coordinator.held_until()) at_most(*due - now);
  return patience;
}

absl::StatusOr<bool> Progress::doze() {
  const bool is_busy = busy();
  if (is_busy && steady_clock::now() - active_at_ < waiting_.spin) return false;
  transport::Doorbell& bell =
      parts_.segment.doorbell(parts_.segment.local_rank());
  const std::uint32_t ticket = bell.listen();
  // What came before listen() rang nobody: look once more.
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved && !ended()) {
    bell.sleep(ticket, patience(is_busy));
  }
  bell.leave();
  return moved;
}

// Messages still on their way are seen off; peers may need them to end, too.
absl::Status Progress::say_goodbye() {
  const auto give_up = steady_clock::now() + kFarewell;
  while (steady_clock::now() < give_up) {
    HVD_ASSIGN_OR_RETURN(const bool flushed, parts_.mailroom.flush());
    if (flushed && !parts_.mailroom.is_sending()) break;
    std::this_thread::yield();
  }
  return absl::OkStatus();
}

absl::Status Progress::settle(const absl::Status& why) {
  absl::Status reason = parts_.health.verdict();
  if (reason.ok()) {
    // What is Aborted comes from a peer, and names it.
    const std::string text =
        absl::IsAborted(why)
            ? std::string(why.message())
            : absl::StrCat(parts_.topology.describe(parts_.topology.rank()),
                           ": ", why.message());
    parts_.health.report(text);
    reason = parts_.health.verdict();
    // Others are about to publish theirs.
    if (reason.ok()) reason = absl::AbortedError(text);
  }
  parts_.queue.close(reason);
  return reason;
}

void Progress::tell_other_nodes(const absl::Status& reason) {
  const std::string& my_node =
      parts_.topology.peer(parts_.topology.rank()).node;
  for (int rank = 0; several_nodes_ && rank < parts_.topology.size(); ++rank) {
    if (parts_.topology.peer(rank).node == my_node) continue;
    coordinator::Outgoing mail =
        parts_.coordinator.break_mail(rank, std::string(reason.message()));
    // Best effort: the peer may be the one that died.
    parts_.mailroom.send(mail.to, std::move(mail.bytes)).IgnoreError();
  }
  say_goodbye().IgnoreError();
}

}  // namespace hvd::runtime
