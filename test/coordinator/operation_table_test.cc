// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/operation_table.h"

#include <gtest/gtest.h>

#include <memory>

namespace hvd::coordinator {
namespace {

TEST(OperationTable, KnowsTheOperationOfARecord) {
  OperationTable table;
  ASSERT_EQ(
      table.define(
          {.definition = {.id = 3, .request = std::make_shared<Request>()}}),
      absl::OkStatus());
  for (const RecordKind kind :
       {RecordKind::kRun, RecordKind::kRetire, RecordKind::kCycle}) {
    EXPECT_TRUE(table.knows({.kind = kind, .id = 3}));
    EXPECT_FALSE(table.knows({.kind = kind, .id = 4}));
  }
  EXPECT_TRUE(table.knows({.kind = RecordKind::kLeave, .id = 4}));
}

}  // namespace
}  // namespace hvd::coordinator
