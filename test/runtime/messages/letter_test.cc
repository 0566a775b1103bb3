// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/messages/letter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::runtime {
namespace {

std::vector<Letter> sample_letters() {
  return {{.kind = LetterKind::kOffer,
           .number = 7,
           .process_set = 2,
           .tag = -3,
           .dtype = DType::kI64,
           .bytes = 3,
           .at = DataPlace::kHere,
           .text = "abc"},
          {.kind = LetterKind::kOffer, .number = 8, .bytes = 1u << 30},
          {.kind = LetterKind::kData,
           .number = 8,
           .bytes = 4096,
           .offset = 1u << 20,
           .at = DataPlace::kInArena,
           .place = {.extent = 3, .offset = 1ull << 40}},
          {.kind = LetterKind::kRefused, .number = 9, .text = "because"},
          {.kind = LetterKind::kAll}};
}

TEST(Letter, SurvivesTheWire) {
  for (const Letter& letter : sample_letters()) {
    const std::string bytes = encode(letter);
    EXPECT_TRUE(is_letter(bytes));
    const auto decoded = decode_letter(bytes);
    ASSERT_EQ(decoded.status(), absl::OkStatus());
    EXPECT_EQ(decoded->kind, letter.kind);
    EXPECT_EQ(decoded->number, letter.number);
    EXPECT_EQ(decoded->process_set, letter.process_set);
    EXPECT_EQ(decoded->tag, letter.tag);
    EXPECT_EQ(decoded->dtype, letter.dtype);
    EXPECT_EQ(decoded->bytes, letter.bytes);
    EXPECT_EQ(decoded->offset, letter.offset);
    EXPECT_EQ(decoded->at, letter.at);
    EXPECT_EQ(decoded->place.extent, letter.place.extent);
    EXPECT_EQ(decoded->place.offset, letter.place.offset);
    EXPECT_EQ(decoded->text, letter.text);
  }
}

TEST(Letter, RefusesEveryCutOfItsHeader) {
  const std::string bytes = encode({.kind = LetterKind::kGo, .number = 1});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        decode_letter(bytes.substr(0, length)).status()));
  }
  EXPECT_FALSE(is_letter("HVdp and more"));
  EXPECT_FALSE(is_letter(""));
}

TEST(Letter, RefusesImpossibleValues) {
  const auto refused = [](Letter letter) {
    return absl::IsInvalidArgument(decode_letter(encode(letter)).status());
  };
  EXPECT_TRUE(refused({.kind = static_cast<LetterKind>(99)}));
  EXPECT_TRUE(refused({.dtype = static_cast<DType>(99)}));
  EXPECT_TRUE(refused({.at = static_cast<DataPlace>(9)}));
  EXPECT_TRUE(refused({.bytes = 5, .at = DataPlace::kHere, .text = "four"}));
  EXPECT_TRUE(refused({.kind = LetterKind::kData, .bytes = 4}));
}

}  // namespace
}  // namespace hvd::runtime
