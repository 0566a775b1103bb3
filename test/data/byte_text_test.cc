// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/byte_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "horovodpp/autograd.h"
#include "horovodpp/core/error.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

using testing::ElementsAre;

TEST(ByteText, HoldsTheEndBackForValidation) {
  const ByteText text =
      ByteText::of("abcdefghij", {.validation_fraction = 0.3});
  EXPECT_EQ(text.train().num_elements(), 7);
  EXPECT_THAT(text.validation().to_vector<std::uint8_t>(),
              ElementsAre('h', 'i', 'j'));
  EXPECT_EQ(ByteText::of("abc").validation().num_elements(), 0);
  EXPECT_THROW(ByteText::of("abc", {.validation_fraction = 1}),
               InvalidArgument);
  EXPECT_THROW(ByteText::of(""), InvalidArgument);
}

TEST(ByteText, ReadsAFile) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("text")) << "some text";
  EXPECT_EQ(ByteText::read(folder.path("text")).train().num_elements(), 9);
  EXPECT_THROW(ByteText::read(folder.path("text"), {.most_bytes = 8}), Error);
  std::ofstream(folder.path("empty")) << "";
  for (const char* name : {"none", "empty"}) {
    EXPECT_ERROR(Error, folder.path(name), ByteText::read(folder.path(name)));
  }
}

TEST(TextWindows, AreFollowedByTheirTargets) {
  const ByteText text = ByteText::of(std::string("\0\1\2\3\4\5\6\7\xff", 9));
  const TextWindows windows(text.train(), {.length = 4});
  ASSERT_EQ(windows.size(), 2);
  const Item item = windows.get(1);
  EXPECT_THAT(item[0].to_vector<std::int64_t>(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(item[1].to_vector<std::int64_t>(), ElementsAre(5, 6, 7, 255));
  const std::int64_t both[] = {1, 0};
  const Batch batch = windows.get_batch(both);
  EXPECT_EQ(batch[0].shape(), (autograd::Dims{2, 4}));
  EXPECT_THAT(batch[1].to_vector<std::int64_t>(),
              ElementsAre(5, 6, 7, 255, 1, 2, 3, 4));
}

TEST(TextWindows, MayOverlap) {
  const ByteText text = ByteText::of("0123456789");
  EXPECT_EQ(TextWindows(text.train(), {.length = 4, .stride = 1}).size(), 6);
  EXPECT_EQ(TextWindows(text.train(), {.length = 4, .stride = 3}).size(), 2);
  EXPECT_EQ(TextWindows(text.train(), {.length = 9}).size(), 1);
}

TEST(TextWindows, AtRandomPlacesDependOnSeedAndNumberOnly) {
  const ByteText text = ByteText::of("0123456789");
  const auto starts = [&](std::uint64_t seed) {
    const TextWindows windows(
        text.train(), {.length = 3, .random_windows = 200, .seed = seed});
    EXPECT_EQ(windows.size(), 200);
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < windows.size(); ++i) {
      result.push_back(windows.get(i)[0].to_vector<std::int64_t>()[0]);
    }
    return result;
  };
  const auto some = starts(1);
  EXPECT_EQ(some, starts(1));
  EXPECT_NE(some, starts(2));
  const std::set<std::int64_t> places(some.begin(), some.end());
  EXPECT_EQ(places.size(), 7u);  // All possible ones.
}

TEST(TextWindows, RefuseInvalidWindows) {
  const ByteText text = ByteText::of("0123");
  EXPECT_THROW(TextWindows(text.train(), {.length = 4}), InvalidArgument);
  EXPECT_THROW(TextWindows(text.train(), {.length = 0}), InvalidArgument);
  EXPECT_THROW(TextWindows(text.train(), {.length = 1, .stride = -1}),
               InvalidArgument);
  EXPECT_THROW(TextWindows(ones({9})), InvalidArgument);
  const TextWindows windows(text.train(), {.length = 2});
  EXPECT_THROW(windows.get(windows.size()), InvalidArgument);
  EXPECT_THROW(windows.get(-1), InvalidArgument);
}

}  // namespace
}  // namespace hvd::data
