// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/torch_file/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace hvd::nn {
namespace {

using testing::HasSubstr;

template <typename T>
T value_of(const std::string& bytes) {
  const auto pickle = parse_pickle(bytes);
  EXPECT_EQ(pickle.status(), absl::OkStatus());
  return std::get<T>((*pickle)[pickle->root]);
}

std::string complaint(const std::string& bytes) {
  return std::string(parse_pickle(bytes).status().message());
}

TEST(ParsePickle, ReadsNumbersOfEverySize) {
  EXPECT_EQ(value_of<std::int64_t>("K\xff."), 255);
  EXPECT_EQ(value_of<std::int64_t>(std::string("M\x01\x02.", 4)), 0x201);
  EXPECT_EQ(value_of<std::int64_t>("J\xfe\xff\xff\xff."), -2);
  EXPECT_EQ(value_of<std::int64_t>(std::string("\x8a\x00.", 3)), 0);
  EXPECT_EQ(value_of<std::int64_t>("\x8a\x01\x80."), -128);
  EXPECT_EQ(value_of<std::int64_t>("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."),
            INT64_MAX);
  EXPECT_EQ(value_of<double>(std::string("G\x3f\xe0\0\0\0\0\0\0.", 10)), 0.5);
}

TEST(ParsePickle, ReadsTextsAndFlags) {
  EXPECT_EQ(value_of<std::string>("\x8c\x03"
                                  "abc."),
            "abc");
  EXPECT_TRUE(value_of<bool>("\x88."));
  EXPECT_FALSE(value_of<bool>("\x89."));
}

TEST(ParsePickle, BuildsListsAndDicts) {
  EXPECT_EQ(value_of<PickledList>("](K\x01K\x02"
                                  "e.")
                .items.size(),
            2u);
  EXPECT_EQ(value_of<PickledList>("]K\x01"
                                  "a.")
                .items.size(),
            1u);
  EXPECT_EQ(value_of<PickledList>("NN\x86.").items.size(), 2u);
  EXPECT_EQ(value_of<PickledDict>("}(NNNNu.").entries.size(), 2u);
  EXPECT_EQ(value_of<PickledDict>("}NNs.").entries.size(), 1u);
  EXPECT_EQ(
      value_of<PickledDict>("ccollections\nOrderedDict\n)R.").entries.size(),
      0u);
}

TEST(ParsePickle, CallsNothingElse) {
  EXPECT_THAT(complaint("cos\nsystem\n\x8c\x02ls\x85R."),
              HasSubstr("needs Python's 'os.system'"));
  EXPECT_THAT(complaint("cos\nsystem\n)\x81."), HasSubstr("0x81"));
}

TEST(ParsePickle, DamageIsAnError) {
  EXPECT_THAT(complaint(""), HasSubstr("ends early"));
  EXPECT_THAT(complaint("."), HasSubstr("a value is missing"));
  EXPECT_THAT(complaint("t."), HasSubstr("a mark is missing"));
  EXPECT_THAT(complaint("N(a."), HasSubstr("a value is missing"));
  EXPECT_THAT(complaint("NNa."), HasSubstr("items of no list"));
  EXPECT_THAT(complaint("}(Nu."), HasSubstr("entries of no dict"));
  EXPECT_THAT(complaint("h\x07."), HasSubstr("a reference leads nowhere"));
  EXPECT_THAT(complaint("\x8c\x09short."), HasSubstr("ends beyond"));
  EXPECT_THAT(complaint("cos"), HasSubstr("does not end"));
  EXPECT_THAT(complaint("NNR."), HasSubstr("a call of no function"));
  EXPECT_THAT(complaint("NQ."), HasSubstr("no description"));
}

// A tensor of `shape` with stride 1 in a storage of five elements.
std::string tensor_of(const std::string& shape, const std::string& offset) {
  const std::string storage = "(X\x07" + std::string(3, '\0') +
                              "storagectorch\nFloatStorage\n" +
                              "\x8c\x01"
                              "0\x8c\x03"
                              "cpuK\x05tQ";
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + shape +
         "\x85K\x01\x85tR.";
}

TEST(ParsePickle, ElementsOfATensorLieInsideItsStorage) {
  const auto tensor = value_of<PickledTensor>(tensor_of("K\x03", "K\x02"));
  EXPECT_EQ(tensor.storage.key, "0");
  EXPECT_EQ(tensor.storage.elements, 5);
  EXPECT_EQ(tensor.offset, 2);
  EXPECT_THAT(complaint(tensor_of("K\x03", "K\x03")),
              HasSubstr("outside its storage '0'"));
  EXPECT_THAT(
      complaint(tensor_of("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "K\x05")),
      HasSubstr("outside its storage '0'"));
  EXPECT_THAT(complaint(tensor_of("J\xff\xff\xff\xff", "K\x01")),
              HasSubstr("no storage, shape or strides"));
}

}  // namespace
}  // namespace hvd::nn
