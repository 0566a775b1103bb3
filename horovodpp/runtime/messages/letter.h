// SPDX-License-Identifier: Apache-2.0
// A Letter is what two ranks tell each other about a message between them:
//   Offer        a message, with its data if these are few
//   Go           (back) send the data in parts
//   Data         a part
//   Took         (back) the part was copied
//   Unreachable  (back) the part lies where this rank cannot read: send bytes
//   Done         (back) the whole message was received
//   Refused      (back) sender and receiver disagree, and why
//   Ask          the job ends: were all earlier messages answered?
//   All          (back) they were
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/core/dtype.h"

namespace hvd::runtime {

enum class LetterKind : std::uint8_t {
  kOffer,
  kGo,
  kData,
  kTook,
  kUnreachable,
  kDone,
  kRefused,
  kAsk,
  kAll,
};

// Where the data of an Offer or a Data are.
enum class DataPlace : std::uint8_t {
  kLater,    // They follow in parts. Offer only.
  kHere,     // In `text`.
  kInArena,  // At `place` in the sender's arena.
};

struct Letter {
  LetterKind kind = LetterKind::kOffer;
  // The message: a sender counts its messages to each receiver.
  std::uint32_t number = 0;
  // Offer.
  coordinator::ProcessSetId process_set = coordinator::kGlobalSet;
  int tag = 0;
  DType dtype = DType::kF32;
  // Offer: the size of the message. Data: that of the part.
  std::uint64_t bytes = 0;
  // Data, Took, Unreachable: where the part begins.
  std::uint64_t offset = 0;
  DataPlace at = DataPlace::kLater;
  Arena::Place place = {};
  // The data, or why the message is refused.
  std::string_view text = {};
};

std::string encode(const Letter& letter);

// Whether `mail` is a letter, and no message of the coordinator.
bool is_letter(std::string_view mail);

// The letter's `text` is a part of `bytes`.
//   InvalidArgument  the bytes are no letter, or of another version
absl::StatusOr<Letter> decode_letter(std::string_view bytes);

}  // namespace hvd::runtime
