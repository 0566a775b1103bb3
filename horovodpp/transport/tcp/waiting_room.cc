// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/waiting_room.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/tcp/card.h"

namespace hvd::transport {

absl::Status WaitingRoom::take(int guest, const std::string& message) {
  switch (kind_of(message)) {
    case MeetingMessage::kWait:
      if (growth_of(guest) != 0) {
        return absl::FailedPreconditionError("a newcomer is admitted already");
      }
      waiting_.remove(guest);
      waiting_.push_back(guest);
      tell_watchers();
      return absl::OkStatus();
    case MeetingMessage::kWatch:
      watchers_.insert(guest);
      send_(guest, numbers_of(MeetingMessage::kWaiting,
                              {static_cast<std::uint32_t>(waiting_.size())}));
      return absl::OkStatus();
    case MeetingMessage::kAdmit: {
      HVD_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> numbers,
                           numbers_in(message, 2));
      return admit(guest, static_cast<int>(numbers[0]),
                   static_cast<int>(numbers[1]));
    }
    case MeetingMessage::kPledge: {
      HVD_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> numbers,
                           numbers_in(message, 1));
      return pledge(guest, numbers[0]);
    }
    case MeetingMessage::kStarted:
      return started(guest);
    case MeetingMessage::kWithdraw:
      if (const std::uint32_t number = growth_of(guest); number != 0) {
        dissolve(number, "a rank could not start the grown job");
      }
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("not a message of the waiting room");
  }
}

absl::Status WaitingRoom::admit(int guest, int ranks, int most) {
  constexpr int kMostRanks = 1 << 24;
  if (ranks < 1 || ranks > kMostRanks || most > kMostRanks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a job of ", ranks, " ranks, which may have ", most, ", cannot grow"));
  }
  if (growth_of(guest) != 0) {
    return absl::FailedPreconditionError("a growth has begun already");
  }
  const int room = std::min(most - ranks, static_cast<int>(waiting_.size()));
  if (room <= 0) {
    send_(guest, numbers_of(MeetingMessage::kAdmitted, {0, 0, 0}));
    return absl::OkStatus();
  }
  const std::uint32_t number = next_number_++;
  Growth& growth = growths_[number];
  growth.size = ranks + room;
  growth.members.insert(guest);
  const auto size = static_cast<std::uint32_t>(growth.size);
  for (int i = 0; i < room; ++i) {
    const int newcomer = waiting_.front();
    waiting_.pop_front();
    growth.members.insert(newcomer);
    send_(newcomer,
          numbers_of(MeetingMessage::kAdmitted,
                     {number, static_cast<std::uint32_t>(ranks + i), size}));
  }
  send_(guest, numbers_of(MeetingMessage::kAdmitted, {number, 0, size}));
  tell_watchers();
  return absl::OkStatus();
}

absl::Status WaitingRoom::pledge(int guest, std::uint32_t number) {
  const auto growth = growths_.find(number);
  if (growth == growths_.end()) {
    send_(guest, message_of(MeetingMessage::kDissolved,
                            "another rank has given it up"));
    return absl::OkStatus();
  }
  if (growth_of(guest) != 0) {
    return absl::FailedPreconditionError("this guest has pledged already");
  }
  growth->second.members.insert(guest);
  return absl::OkStatus();
}

absl::Status WaitingRoom::started(int guest) {
  const std::uint32_t number = growth_of(guest);
  // Dissolved meanwhile; the guest has been told.
  if (number == 0) return absl::OkStatus();
  Growth& growth = growths_[number];
  growth.started.insert(guest);
  if (static_cast<int>(growth.started.size()) < growth.size) {
    return absl::OkStatus();
  }
  for (const int member : growth.started) {
    send_(member, message_of(MeetingMessage::kFormed));
  }
  growths_.erase(number);
  return absl::OkStatus();
}

void WaitingRoom::dissolve(std::uint32_t number, const std::string& why) {
  const Growth growth = std::move(growths_[number]);
  growths_.erase(number);
  for (const int member : growth.members) {
    send_(member, message_of(MeetingMessage::kDissolved, why));
  }
}

void WaitingRoom::left(int guest) {
  watchers_.erase(guest);
  if (const std::uint32_t number = growth_of(guest); number != 0) {
    growths_[number].members.erase(guest);
    dissolve(number, "a rank was lost before the grown job had started");
  }
  if (waiting_.remove(guest) > 0) tell_watchers();
}

int WaitingRoom::size_of(std::uint32_t growth) const {
  const auto found = growths_.find(growth);
  return found == growths_.end() ? 0 : found->second.size;
}

std::uint32_t WaitingRoom::growth_of(int guest) const {
  for (const auto& [number, growth] : growths_) {
    if (growth.members.contains(guest)) return number;
  }
  return 0;
}

void WaitingRoom::tell_watchers() {
  const std::string message = numbers_of(
      MeetingMessage::kWaiting, {static_cast<std::uint32_t>(waiting_.size())});
  for (const int watcher : watchers_) send_(watcher, message);
}

}  // namespace hvd::transport
