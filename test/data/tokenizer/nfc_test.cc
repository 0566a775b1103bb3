// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/nfc.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace hvd::data {
namespace {

std::string bytes_of_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// test/fixtures/make_nfc_fixtures.py writes the texts.
TEST(Nfc, IsThatOfPython) {
  std::ifstream file(std::string(HVD_FIXTURES) + "/tokenizers/nfc.cases");
  int count = 0;
  for (std::string text, wanted; file >> text >> wanted; ++count) {
    EXPECT_EQ(nfc(bytes_of_hex(text)), bytes_of_hex(wanted)) << text;
  }
  EXPECT_GT(count, 250);
}

TEST(Nfc, KeepsTextsWithoutMarksAndBytesThatAreNoText) {
  EXPECT_EQ(nfc(""), "");
  EXPECT_EQ(nfc("caf\xC3\xA9"), "caf\xC3\xA9");
  // A lone mark, a cut character, and bytes that begin none.
  EXPECT_EQ(nfc("\xCC\x81"), "\xCC\x81");
  EXPECT_EQ(nfc("e\xFF\xCC\x81\xE2\x82"), "e\xFF\xCC\x81\xE2\x82");
}

}  // namespace
}  // namespace hvd::data
