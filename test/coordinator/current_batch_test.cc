// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/current_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CurrentBatch, NumbersGrowAndRestartInAnEpoch) {
  CurrentBatch current;
  const Batch first = current.number(true);
  const Batch second = current.number(false);
  EXPECT_EQ(second.epoch, first.epoch);
  EXPECT_EQ(second.sequence, first.sequence + 1);
  EXPECT_TRUE(first.certain);
  EXPECT_FALSE(second.certain);
  current.begin_epoch();
  const Batch third = current.number(true);
  EXPECT_EQ(third.epoch, first.epoch + 1);
  EXPECT_EQ(third.sequence, first.sequence);
}

TEST(CurrentBatch, IsExecutingUntilItsEnd) {
  CurrentBatch current;
  EXPECT_EQ(current.give_out(), nullptr);
  EXPECT_FALSE(current.is_executing());
  Batch batch = current.number(true);
  current.add(4);
  current.add(9);
  current.make_ready(std::move(batch));
  EXPECT_TRUE(current.is_ready());
  EXPECT_FALSE(current.is_executing());
  EXPECT_NE(current.give_out(), nullptr);
  EXPECT_TRUE(current.is_executing());
  EXPECT_FALSE(current.is_ready());
  EXPECT_THAT(current.end(), ElementsAre(4, 9));
  EXPECT_FALSE(current.is_executing());
  EXPECT_THAT(current.end(), IsEmpty());
}

TEST(CurrentBatch, APlannedBatchIsNumberedInPlace) {
  CurrentBatch current;
  const Batch before = current.number(true);
  Batch planned;
  current.make_planned_ready(planned);
  EXPECT_EQ(current.give_out(), &planned);
  EXPECT_TRUE(current.is_executing());
  EXPECT_EQ(planned.epoch, before.epoch);
  EXPECT_EQ(planned.sequence, before.sequence + 1);
  EXPECT_THAT(current.end(), IsEmpty());
}

}  // namespace
}  // namespace hvd::coordinator
