#include "horovodpp/runtime/progress.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

constexpr int kBeatsPerDeadline = 4;

constexpr int kAttemptsToDrive = 64;

}  // namespace

Progress::Progress(const Parts& parts,
                   std::chrono::nanoseconds heartbeat_deadline)
    : parts_(parts),
      waiting_(transport::WaitPolicy::for_node(parts.segment.local_size())),
      several_nodes_(parts.topology.node_count() > 1),
      out_of_memory_(absl::AbortedError(
          absl::StrCat(parts.topology.describe(parts.topology.rank()),
                       " has no memory left"))),
      out_of_memory_text_(out_of_memory_.message()),
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
    std::optional<Sleep> sleep;
    {
      MutexLock lock(driving_);
      if (resting_) bell().leave(Listener::kRester);
      resting_.reset();
      if (end_) return *end_;
      driver_.store(std::this_thread::get_id());
      resting_ = sleep = go_on(Listener::kRester);
      driver_.store(std::thread::id());
    }
    // Not under the lock: who waits for something drives meanwhile.
    if (sleep) bell().sleep(Listener::kRester, sleep->ticket, sleep->patience);
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
    break_down_after_throw();
  }
  awaited_ = nullptr;
  bool hand_over = true;
  try {
    hand_over = is_to_hand_over();
  } catch (...) {
    break_down_after_throw();
  }
  driver_.store(std::thread::id());
  driving_.unlock();
  if (hand_over) bell().ring();
  return true;
}

void Progress::drive_until(const coordinator::Key& key, const Ready& ready) {
  bool announced = false;
  while (!ready() && !end_) {
    const std::optional<Sleep> sleep = go_on(Listener::kDriver);
    if (sleep) {
      // Others, too, can make it ready; they ring.
      if (!ready()) {
        bell().sleep(Listener::kDriver, sleep->ticket, sleep->patience);
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
  absl::StatusOr<bool> moved = agree();
  if (moved.ok() && !*moved) moved = read_schedule();
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
std::optional<Progress::Sleep> Progress::go_on(Listener as) {
  try {
    return move_on(as);
  } catch (...) {
    break_down_after_throw();
  }
  return std::nullopt;
}

std::optional<Progress::Sleep> Progress::move_on(Listener as) {
  if (ended()) {
    end_ = say_goodbye();
    return std::nullopt;
  }
  std::optional<Sleep> sleep;
  absl::StatusOr<bool> moved = turn();
  if (moved.ok() && !*moved) moved = try_to_sleep(as, sleep);
  if (!moved.ok()) {
    break_down(moved.status());
    return std::nullopt;
  }
  if (*moved) active_at_ = steady_clock::now();
  return sleep;
}

transport::Doorbell& Progress::bell() const {
  return parts_.segment.doorbell(parts_.segment.local_rank());
}

void Progress::leave() {
  leave_requested_.store(true);
  bell().ring();
}

}  // namespace hvd::runtime
