// SPDX-License-Identifier: Apache-2.0
// Messages between a rank and the meeting server, each a frame of mail
// (frame_stream.h):
//
//   rank -> server   kCard: I am here, and can be reached there
//                    kAsk: who is missing?
//   server -> rank   kTable: all cards, once all ranks are here
//                    kRefusal: a text
//                    kMissing: a text, the answer to kAsk
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

// kTable, and so on; 0 for an empty message.
MeetingMessage kind_of(std::string_view message);
//   InvalidArgument  the message is not of this kind, or malformed
absl::StatusOr<Card> card_in(std::string_view message);
absl::StatusOr<std::vector<Card>> table_in(std::string_view message);
std::string text_in(std::string_view message);

}  // namespace hvd::transport
