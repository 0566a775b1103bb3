// SPDX-License-Identifier: Apache-2.0
// A WaitingRoom is the meeting server's part in the growth of an elastic job.
// Newcomers wait in it until the running job admits them:
//
//   1. A newcomer sends kWait. Rank 0 of the job watches the number that wait.
//   2. At a step boundary, rank 0 sends kAdmit. The room chooses the newcomers
//      that have waited longest, and begins a *growth*, which has a number.
//   3. The job's other ranks send kPledge, so that every member of the growth
//      has a connection here.
//   4. All members hold a meeting of that number, start the grown job beside
//      the old one, and send kStarted or kWithdraw.
//   5. Once all have started, the growth is formed: the grown job replaces the
//      old one. If a member withdraws or is lost before, the growth is
//      dissolved: the old job goes on.
//
// The room alone decides between formed and dissolved, so all members of a
// growth learn the same. A member without an answer waits for one, or
// withdraws and waits.
//
// No clock and no I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace hvd::transport {

class WaitingRoom {
 public:
  // Growths have the numbers from here on; other meetings have lower ones.
  static constexpr std::uint32_t kFirstNumber = 1u << 31;

  // Sends a message (card.h) to a guest of the meeting server.
  using Send = std::function<void(int guest, const std::string& message)>;
  explicit WaitingRoom(Send send) : send_(std::move(send)) {}

  // A guest's message of one of the kinds above.
  //   InvalidArgument     it is malformed
  //   FailedPrecondition  the guest may not send it now
  absl::Status take(int guest, const std::string& message);
  // The guest's connection has ended.
  void left(int guest);

  // The number of ranks of this growth's meeting; 0: there is no such growth,
  // or not any more.
  int size_of(std::uint32_t growth) const;

 private:
  struct Growth {
    int size = 0;
    std::set<int> members{};  // Guests: newcomers, rank 0, those who pledged.
    std::set<int> started{};
  };

  absl::Status admit(int guest, int ranks, int most);
  absl::Status pledge(int guest, std::uint32_t number);
  absl::Status started(int guest);
  void dissolve(std::uint32_t number, const std::string& why);
  // The number of the growth that the guest is a member of; 0: none.
  std::uint32_t growth_of(int guest) const;
  void tell_watchers();

  const Send send_;
  std::list<int> waiting_;  // The first has waited longest.
  std::set<int> watchers_;
  std::uint32_t next_number_ = kFirstNumber;
  std::map<std::uint32_t, Growth> growths_;  // Undecided.
};

}  // namespace hvd::transport
