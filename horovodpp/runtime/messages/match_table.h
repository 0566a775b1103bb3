// SPDX-License-Identifier: Apache-2.0
// A MatchTable pairs the messages that other ranks offer to this rank with the
// receives of this rank, by process set, tag and sender. An offer takes the
// first receive that fits it, a receive the first offer. So the messages of one
// sender with one tag are received in the order sent.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/runtime/messages/letter.h"

namespace hvd::runtime {

// A message without a receive.
struct Offered {
  int from = 0;  // Of the job.
  std::uint32_t number = 0;
  coordinator::ProcessSetId process_set = coordinator::kGlobalSet;
  int tag = 0;
  DType dtype = DType::kF32;
  std::size_t bytes = 0;
  DataPlace at = DataPlace::kLater;
  Arena::Place place = {};
  std::string data = {};
  // This rank's own send, if it is the sender.
  coordinator::SubmissionPtr own = nullptr;
};

// A receive without a message, and the time of its submission.
struct Wanted {
  coordinator::SubmissionPtr submission = nullptr;
  Clock::TimePoint since = {};
};

// A receive and its message.
struct Match {
  Wanted wanted;
  Offered offered;
};

class MatchTable {
 public:
  // Takes the first receive that `offered` fits; else keeps `offered`.
  std::optional<Match> offer(Offered offered);
  // Takes the first message that fits `wanted`; else keeps `wanted`.
  std::optional<Match> want(Wanted wanted);

  // The receives without a message, and their number.
  std::vector<Wanted> all_wanted() const;
  std::size_t wanted() const { return wanted_; }

  // Removes everything of a process set, or of all sets, and returns the
  // removed receives, and this rank's own sends.
  std::vector<coordinator::SubmissionPtr> drop(
      std::optional<coordinator::ProcessSetId> set);

 private:
  using Place = std::pair<coordinator::ProcessSetId, int>;  // And the tag.
  struct Line {
    std::deque<Offered> offered = {};
    std::deque<Wanted> wanted = {};
  };

  absl::flat_hash_map<Place, Line> lines_;
  std::size_t wanted_ = 0;
};

}  // namespace hvd::runtime
