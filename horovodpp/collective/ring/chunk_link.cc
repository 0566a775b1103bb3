// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/chunk_link.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using Clock = std::chrono::steady_clock;

// Polls of the transfers per poll of the interrupt, which takes as long as
// several of them.
constexpr int kLooksPerCheck = 8;

constexpr char kReceiving[] = "receiving from";
constexpr char kSending[] = "sending to";

// The pauses between two polls of an incomplete transfer.
class Backoff {
 public:
  explicit Backoff(const transport::WaitPolicy& policy)
      : spin_(policy.spin),
        yields_(policy.yields),
        max_sleep_(policy.max_sleep) {
    if (max_sleep_.count() < 0) max_sleep_ = std::chrono::microseconds(50);
  }

  // Whether the next pause() is not a sleep.
  bool is_awake() const { return spin_.count() > 0 || yields_ > 0; }

  void pause() {
    if (spin_.count() > 0) {
      const auto now = Clock::now();
      if (end_ == Clock::time_point()) end_ = now + spin_;
      if (now < end_) return;
      spin_ = std::chrono::nanoseconds(0);
    }
    if (yields_ > 0) {
      --yields_;
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(max_sleep_);
    }
  }

 private:
  std::chrono::nanoseconds spin_;
  int yields_;
  std::chrono::nanoseconds max_sleep_;
  Clock::time_point end_;
};

}  // namespace

ChunkLink::ChunkLink(transport::Communicator& communicator, Staging& staging,
                     const Call& call, const transport::WaitPolicy& waiting)
    : communicator_(communicator),
      staging_(staging),
      call_(call),
      waiting_(waiting) {
  for (int i = staging.slots() - 1; i >= 0; --i) {
    free_.push_back(staging.slot(i));
  }
}

ChunkLink::~ChunkLink() {
  for (const Posted& posted : receives_) give_up(posted);
  for (const Posted& posted : sends_) give_up(posted);
}

void ChunkLink::give_up(const Posted& posted) {
  if (!communicator_.abandon(posted.id)) staging_.retire(posted.slot);
}

absl::Status ChunkLink::post_receive(int from, std::size_t bytes) {
  std::byte* slot = free_.back();
  HVD_ASSIGN_OR_RETURN(
      const transport::TransferId id,
      communicator_.post_receive(from, call_.tag, {slot, bytes}));
  free_.pop_back();
  receives_.push_back({id, from, slot});
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> ChunkLink::receive() {
  const Posted oldest = receives_.front();
  HVD_RETURN_IF_ERROR(wait(oldest, kReceiving));
  receives_.pop_front();
  return oldest.slot;
}

absl::StatusOr<std::byte*> ChunkLink::try_receive() {
  const Posted oldest = receives_.front();
  HVD_ASSIGN_OR_RETURN(const bool done, test(oldest, kReceiving));
  if (!done) return nullptr;
  receives_.pop_front();
  return oldest.slot;
}

absl::Status ChunkLink::take_in_sends() {
  while (!sends_.empty()) {
    HVD_ASSIGN_OR_RETURN(const bool done, test(sends_.front(), kSending));
    if (!done) break;
    pop_send();
  }
  return absl::OkStatus();
}

void ChunkLink::pop_send() {
  if (!sends_.front().is_part) free_.push_back(sends_.front().slot);
  sends_.pop_front();
}

absl::StatusOr<bool> ChunkLink::can_send() {
  HVD_RETURN_IF_ERROR(take_in_sends());
  return sends_.size() < static_cast<std::size_t>(depth());
}

absl::StatusOr<bool> ChunkLink::is_flushed() {
  HVD_RETURN_IF_ERROR(take_in_sends());
  return sends_.empty();
}

absl::StatusOr<std::byte*> ChunkLink::take() {
  HVD_RETURN_IF_ERROR(finish_sends(static_cast<std::size_t>(depth() - 1)));
  std::byte* slot = free_.back();
  free_.pop_back();
  return slot;
}

absl::Status ChunkLink::send_part(int to, std::byte* slot, const Part& part) {
  HVD_RETURN_IF_ERROR(finish_sends(static_cast<std::size_t>(depth() - 1)));
  HVD_ASSIGN_OR_RETURN(
      const transport::TransferId id,
      communicator_.post_send(to, call_.tag, {slot + part.offset, part.bytes}));
  sends_.push_back({id, to, slot, true});
  return absl::OkStatus();
}

// Completed sends are handled in order, so the last one of the slot frees it.
void ChunkLink::release_when_sent(std::byte* slot) {
  const auto last =
      std::find_if(sends_.rbegin(), sends_.rend(),
                   [&](const Posted& posted) { return posted.slot == slot; });
  if (last != sends_.rend()) {
    last->is_part = false;
  } else {
    free_.push_back(slot);
  }
}

absl::Status ChunkLink::send(int to, std::byte* slot, std::size_t bytes) {
  HVD_RETURN_IF_ERROR(finish_sends(static_cast<std::size_t>(depth() - 1)));
  HVD_ASSIGN_OR_RETURN(const transport::TransferId id,
                       communicator_.post_send(to, call_.tag, {slot, bytes}));
  sends_.push_back({id, to, slot});
  return absl::OkStatus();
}

absl::Status ChunkLink::flush() { return finish_sends(0); }

absl::Status ChunkLink::finish_sends(std::size_t but) {
  while (sends_.size() > but) {
    HVD_RETURN_IF_ERROR(wait(sends_.front(), kSending));
    pop_send();
  }
  return absl::OkStatus();
}

absl::Status ChunkLink::wait(const Posted& posted, const char* what) {
  return drive([&]() -> absl::StatusOr<Advance> {
    HVD_ASSIGN_OR_RETURN(const bool done, test(posted, what));
    return done ? Advance::kDone : Advance::kStuck;
  });
}

absl::StatusOr<bool> ChunkLink::test(const Posted& posted, const char* what) {
  absl::StatusOr<bool> done = communicator_.test(posted.id);
  if (!done.ok()) {
    return annotate(done.status(), absl::StrCat(what, " rank ", posted.peer));
  }
  return done;
}

absl::Status ChunkLink::drive(
    const std::function<absl::StatusOr<Advance>()>& advance) {
  std::optional<Backoff> backoff;
  for (int look = 1;; ++look) {
    HVD_ASSIGN_OR_RETURN(const Advance state, advance());
    if (state == Advance::kDone) return absl::OkStatus();
    const bool is_awake = !backoff || backoff->is_awake();
    if (!is_awake || look % kLooksPerCheck == 0) {
      HVD_RETURN_IF_ERROR(call_.interrupt.check());
    }
    if (state == Advance::kMoved) {
      backoff.reset();
      continue;
    }
    if (!backoff) backoff.emplace(waiting_);
    backoff->pause();
  }
}

}  // namespace hvd::collective
