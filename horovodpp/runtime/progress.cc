#include "horovodpp/runtime/progress.h"

#include <algorithm>
#include <exception>
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

// Likewise, where data that was sent may not have left yet.
constexpr std::chrono::milliseconds kDataNap(1);

// How long submissions that cannot matter yet lie unseen at most.
constexpr std::chrono::milliseconds kUnseen(10);

constexpr int kBeatsPerDeadline = 4;

constexpr int kAttemptsToDrive = 64;

// How long the news of a fault may take to leave a rank that ends because of
// it.
constexpr std::chrono::milliseconds kFarewell(100);

// In a catch clause.
absl::Status what_was_thrown() {
  try {
    throw;
  } catch (const std::exception& e) {
    return absl::InternalError(
        absl::StrCat("the runtime failed (", e.what(), ")"));
  } catch (...) {
    return absl::InternalError("the runtime failed");
  }
}

}  // namespace

Progress::Progress(const Parts& parts,
                   std::chrono::nanoseconds heartbeat_deadline)
    : parts_(parts),
      waiting_(transport::WaitPolicy::for_node(parts.segment.local_size())),
      several_nodes_(parts.topology.node_count() > 1),
      active_at_(steady_clock::now()) {
  if (several_nodes_ && parts.segment.local_rank() == 0) {
    beats_.emplace(
        Heartbeats::Options{.neighbours = parts.coordinator.neighbours(),
                            .interval = heartbeat_deadline / kBeatsPerDeadline,
                            .deadline = heartbeat_deadline},
        steady_clock::now());
  }
}

absl::Status Progress::run() {
  while (true) {
    std::optional<Nap> nap;
    {
      MutexLock lock(driving_);
      if (resting_) bell().leave(Listener::kRester);
      resting_.reset();
      if (end_) return *end_;
      driver_.store(std::this_thread::get_id());
      resting_ = nap = go_on(Listener::kRester);
      driver_.store(std::thread::id());
    }
    // Not under the lock: who waits for something drives meanwhile.
    if (nap) bell().sleep(Listener::kRester, nap->ticket, nap->patience);
  }
}

bool Progress::help(const coordinator::Key& key, const Ready& ready) {
  if (is_driven_here() || !try_to_drive()) return false;
  driver_.store(std::this_thread::get_id());
  if (resting_) bell().leave(Listener::kRester);
  awaited_ = &ready;
  try {
    drive_until(key, ready);
  } catch (...) {
    break_down(what_was_thrown());
  }
  awaited_ = nullptr;
  const bool hand_over = is_to_hand_over();
  driver_.store(std::thread::id());
  driving_.unlock();
  if (hand_over) bell().ring();
  return true;
}

void Progress::drive_until(const coordinator::Key& key, const Ready& ready) {
  bool announced = false;
  while (!ready() && !end_) {
    const std::optional<Nap> nap = go_on(Listener::kDriver);
    if (nap) {
      // Others, too, can make it ready; they ring.
      if (!ready()) {
        bell().sleep(Listener::kDriver, nap->ticket, nap->patience);
      }
      bell().leave(Listener::kDriver);
    }
    if (announced || ready()) continue;
    // Not there by itself: others may have to do something about it.
    parts_.queue.wait_for(key);
    announced = true;
  }
}

bool Progress::is_to_hand_over() {
  bool hand_over = false;
  if (resting_) {
    hand_over = parts_.queue.wake_at(submissions_to_wake_at());
    bell().listen(Listener::kRester);
  }
  if (bell().missed()) hand_over = look_again() || hand_over;
  return needs_driver() || hand_over;
}

// For rings that passed the resting thread over: most were for what this one has
// done since. Whether that thread has to go on.
bool Progress::look_again() {
  if (end_) return true;
  absl::StatusOr<bool> moved = false;
  try {
    moved = agree();
    if (moved.ok() && !*moved) moved = read_schedule();
  } catch (...) {
    moved = what_was_thrown();
  }
  if (!moved.ok()) break_down(moved.status());
  return !moved.ok() || *moved || parts_.coordinator.wants_step();
}

bool Progress::is_driven_here() const {
  return driver_.load() == std::this_thread::get_id();
}

// The other driver may be about to finish a turn.
bool Progress::try_to_drive() {
  for (int attempt = 0; attempt < kAttemptsToDrive; ++attempt) {
    if (driving_.try_lock()) return true;
  }
  return false;
}

// An exception would leave the job to nobody, or end the process.
std::optional<Progress::Nap> Progress::go_on(Listener as) {
  try {
    return move_on(as);
  } catch (...) {
    break_down(what_was_thrown());
  }
  return std::nullopt;
}

std::optional<Progress::Nap> Progress::move_on(Listener as) {
  if (ended()) {
    end_ = say_goodbye();
    return std::nullopt;
  }
  std::optional<Nap> nap;
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved) moved = lie_down(as, nap);
  if (!moved.ok()) {
    break_down(moved.status());
    return std::nullopt;
  }
  if (*moved) active_at_ = steady_clock::now();
  return nap;
}

// Where there is no memory left the others see this rank's end.
void Progress::break_down(const absl::Status& why) {
  try {
    end_ = settle(why);
    tell_other_nodes(*end_);
  } catch (...) {
    if (!end_) end_ = why;
  }
}

transport::Doorbell& Progress::bell() const {
  return parts_.segment.doorbell(parts_.segment.local_rank());
}

void Progress::leave() {
  leave_requested_.store(true);
  bell().ring();
}

// Every rank has left. Who has told others so stays until his words have found
// room: they wait for them.
bool Progress::ended() const {
  return parts_.coordinator.closed() && !parts_.mailroom.has_unwritten();
}

absl::StatusOr<bool> Progress::turn() {
  HVD_ASSIGN_OR_RETURN(const bool agreed, agree());
  HVD_ASSIGN_OR_RETURN(const bool done, execute());
  return agreed || done;
}

absl::StatusOr<bool> Progress::agree() {
  // Before the verdict on a death: the mail may say that it was none.
  HVD_ASSIGN_OR_RETURN(const bool in, take_in());
  if (!parts_.coordinator.closed()) {
    HVD_RETURN_IF_ERROR(parts_.health.judge());
  }
  HVD_RETURN_IF_ERROR(beat());
  HVD_ASSIGN_OR_RETURN(const bool out, give_out());
  return in || out;
}

absl::Status Progress::attend() {
  HVD_RETURN_IF_ERROR(take_in().status());
  HVD_RETURN_IF_ERROR(beat());
  HVD_RETURN_IF_ERROR(give_out().status());
  if (!parts_.coordinator.should_abandon()) return absl::OkStatus();
  return absl::CancelledError("the cycle ended before all ranks came here");
}

std::optional<steady_clock::time_point> Progress::attend_due() const {
  auto due = parts_.coordinator.due();
  // A leader passes on what others wait for, and mail of other nodes wakes
  // nobody.
  if (beats_) {
    const auto nap = steady_clock::now() + kBusyNap;
    due = due ? std::min(*due, nap) : nap;
  }
  return due;
}

absl::StatusOr<bool> Progress::take_in() {
  // Asked first: what was submitted before leave() is then among the requests.
  const bool leave = leave_requested_.load() && !leaving_;
  bool moved = false;
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<transport::Mail> mail,
                         parts_.mailroom.receive());
    if (!mail) break;
    moved = true;
    if (beats_) beats_->heard(mail->from, steady_clock::now());
    HVD_RETURN_IF_ERROR(parts_.coordinator.receive(mail->from, mail->bytes));
  }
  if (parts_.queue.has_news()) {
    moved = true;
    parts_.queue.take_news(news_);
    for (const coordinator::SubmissionPtr& submission : news_.unsent) {
      parts_.coordinator.submit(submission->request);
    }
    news_.unsent.clear();
    for (const coordinator::Key& key : news_.waited_for) {
      parts_.coordinator.wait_for(key);
    }
  }
  if (leave) {
    moved = leaving_ = true;
    parts_.health.leaving();
    parts_.coordinator.leave();
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
  for (const std::string& warning : parts_.coordinator.take_warnings()) {
    parts_.log.warning(warning);
  }
  return moved || bells.leader || bells.node;
}

// Leaders of neighbouring nodes see nothing of each other but mail.
absl::Status Progress::beat() {
  if (!beats_) return absl::OkStatus();
  const auto now = steady_clock::now();
  for (const int rank : beats_->due(now)) {
    coordinator::Outgoing mail = parts_.coordinator.beat_mail(rank);
    HVD_RETURN_IF_ERROR(parts_.mailroom.send(mail.to, std::move(mail.bytes)));
  }
  for (const int rank : beats_->lost(now)) {
    parts_.health.peer_lost(rank,
                            "and its node have not been heard of for too long; "
                            "the host may be down or cut off");
  }
  return absl::OkStatus();
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
    HVD_ASSIGN_OR_RETURN(const bool failed, read_schedule());
    moved = moved || failed;
    if (!next_) return moved || parts_.coordinator.wants_step();
    moved = true;
    // Who has what it waited for is not held up by others' batches: what it does
    // next may be what another rank needs before it comes there.
    if (awaited_ != nullptr && (*awaited_)()) return moved;
    const coordinator::Batch batch = *std::exchange(next_, std::nullopt);
    HVD_RETURN_IF_ERROR(carry_out(batch));
  }
}

absl::StatusOr<bool> Progress::read_schedule() {
  if (next_) return false;
  HVD_ASSIGN_OR_RETURN(next_, parts_.coordinator.next_batch());
  const std::vector<coordinator::Failure> failures =
      parts_.coordinator.take_failures();
  for (const coordinator::Failure& failure : failures) {
    parts_.queue.fail(failure.key, failure.why);
  }
  return !failures.empty();
}

absl::Status Progress::carry_out(const coordinator::Batch& batch) {
  std::vector<const coordinator::Key*> keys;
  for (const coordinator::Batch::Entry& entry : batch.entries) {
    if (entry.submitted_here) keys.push_back(&entry.agreed->key);
  }
  HVD_ASSIGN_OR_RETURN(std::vector<coordinator::SubmissionPtr> submissions,
                       parts_.queue.take(keys));
  const auto release = [&] { parts_.queue.release(submissions); };
  absl::Status status;
  try {
    status = parts_.executor.run(batch, submissions, release);
  } catch (...) {
    status = what_was_thrown();
  }
  parts_.mailroom.data_was_sent();
  if (status.ok()) {
    parts_.coordinator.finished();
    return status;
  }
  if (absl::IsCancelled(status) && parts_.coordinator.should_abandon()) {
    parts_.queue.put_back(std::move(submissions));
    parts_.coordinator.abandoned();
    return absl::OkStatus();
  }
  const absl::Status reason = settle(status);
  release();
  for (const auto& submission : submissions) submission->done(reason);
  return reason;
}

bool Progress::busy() const {
  return parts_.coordinator.has_in_flight() || leaving_ || next_;
}

// What a step begins with is always looked at: an idle rank would not notice that
// nothing follows.
std::size_t Progress::submissions_to_wake_at() const {
  return busy() ? parts_.coordinator.submissions_to_next() : 1;
}

std::chrono::nanoseconds Progress::patience(bool is_busy) const {
  std::chrono::nanoseconds patience(-1);
  const auto at_most = [&](std::chrono::nanoseconds limit) {
    limit = std::max(limit, std::chrono::nanoseconds(0));
    patience = patience.count() < 0 ? limit : std::min(patience, limit);
  };
  if (parts_.mailroom.is_sending()) at_most(kBusyNap);
  if (parts_.mailroom.is_sending_data()) at_most(kDataNap);
  if (submissions_to_wake_at() > 1) at_most(kUnseen);
  if (several_nodes_) {
    const bool leader = parts_.segment.local_rank() == 0;
    if (is_busy) {
      at_most(kBusyNap);
    } else if (leader) {
      at_most(kIdleNap);
    }
  }
  const auto now = steady_clock::now();
  if (const auto due = parts_.health.loss_due()) at_most(*due - now);
  if (const auto due = parts_.coordinator.due()) at_most(*due - now);
  if (beats_) at_most(beats_->next(now) - now);
  return patience;
}

absl::StatusOr<bool> Progress::lie_down(Listener as, std::optional<Nap>& nap) {
  const bool is_busy = busy();
  const auto now = steady_clock::now();
  const std::size_t wake_at = submissions_to_wake_at();
  // While this rank's program has to go on first there is nothing to spin for.
  if (is_busy && wake_at == 1 && now - active_at_ < waiting_.spin) return false;
  const std::uint32_t ticket = bell().listen(as);
  // What came before listen() rang nobody: look once more.
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved && !ended()) {
    nap = {.ticket = ticket, .began = now, .patience = patience(is_busy)};
    if (parts_.queue.wake_at(wake_at)) {
      // Somebody submitted under an older idea of it, and did not ring.
      nap.reset();
      moved = true;
    }
  }
  if (!nap) bell().leave(as);
  return moved;
}

bool Progress::needs_driver() const {
  if (end_ || busy() || parts_.queue.has_news()) return true;
  const std::chrono::nanoseconds needed = patience(false);
  if (needed.count() < 0 || !resting_) return false;
  return resting_->patience.count() < 0 ||
         steady_clock::now() + needed < resting_->began + resting_->patience;
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

// Every rank of the node does so: its leader may be the one that died.
void Progress::tell_other_nodes(const absl::Status& reason) {
  for (coordinator::Outgoing& mail :
       parts_.coordinator.break_mail(std::string(reason.message()))) {
    // Best effort: the peer may be the one that died.
    parts_.mailroom.send(mail.to, std::move(mail.bytes)).IgnoreError();
  }
  say_goodbye().IgnoreError();
}

}  // namespace hvd::runtime
