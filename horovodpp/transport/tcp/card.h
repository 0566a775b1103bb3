// SPDX-License-Identifier: Apache-2.0
// Messages between a rank and the meeting server, each a frame of mail
// (frame_stream.h):
//
//   rank -> server   kCard: I am here, and can be reached there
//                    kAsk: who is missing?
//   server -> rank   kTable: all cards, once all ranks are here
//                    kRefusal: a text
//                    kMissing: a text, the answer to kAsk
//
// In elastic jobs, about the waiting room (waiting_room.h):
//
//   rank -> server   kWait: I am a newcomer, and wait to be admitted
//                    kWatch: how many newcomers wait, now and from now on?
//                    kAdmit: my job has {ranks}, and may have {most}
//                    kPledge: I take part in the growth {number}
//                    kStarted: the grown job has started here
//                    kWithdraw: it has not, and will not
//   server -> rank   kWaiting: {newcomers that wait}
//                    kAdmitted: {number, rank, size} of the growth; size 0:
//                    no newcomer waits
//                    kFormed: the grown job replaces the old one on all ranks
//                    kDissolved: a text, why it does not, on any rank
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/system/datagram_beats.h"
#include "horovodpp/transport/tcp/endpoint.h"

namespace hvd::transport {

enum class MeetingMessage : std::uint8_t {
  kCard = 1,
  kAsk = 2,
  kTable = 3,
  kRefusal = 4,
  kMissing = 5,
  kWait = 6,
  kWatch = 7,
  kAdmit = 8,
  kPledge = 9,
  kStarted = 10,
  kWithdraw = 11,
  kWaiting = 12,
  kAdmitted = 13,
  kFormed = 14,
  kDissolved = 15,
};

// A rank, as it introduces itself.
struct Card {
  int rank = 0;
  int size = 0;
  Peer peer{};
  std::vector<Endpoint> endpoints{};
  DatagramBeats::Contact contact{};
};

// A rank's longest message, and the longest entry of a table.
inline constexpr std::size_t kAmpleestCard = 4096;

std::string message_of(const Card& card);
std::string message_of(const std::vector<Card>& table);
std::string message_of(MeetingMessage kind, const std::string& text = "");
std::string numbers_of(MeetingMessage kind,
                       const std::vector<std::uint32_t>& numbers);

// kTable, and so on; 0 for an empty message.
MeetingMessage kind_of(std::string_view message);
//   InvalidArgument  the message is not of this kind, or malformed
absl::StatusOr<Card> card_in(std::string_view message);
absl::StatusOr<std::vector<Card>> table_in(std::string_view message);
std::string text_in(std::string_view message);
//   InvalidArgument  the message does not hold `count` numbers
absl::StatusOr<std::vector<std::uint32_t>> numbers_in(std::string_view message,
                                                      std::size_t count);

}  // namespace hvd::transport
