// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Operation operation(std::uint32_t id, const std::string& name,
                    std::uint32_t slot = 0) {
  auto request = std::make_shared<Request>();
  request->key.name = name;
  return {.definition = {.id = id, .slot = slot, .request = request}};
}

TEST(OperationTable, FindsByIdAndByName) {
  OperationTable table;
  ASSERT_EQ(table.define(operation(7, "a")), absl::OkStatus());
  EXPECT_EQ(table.find(7)->key().name, "a");
  EXPECT_EQ(table.id_of({.name = "a"}), 7u);
  EXPECT_EQ(table.find(8), nullptr);
  EXPECT_FALSE(table.id_of({.name = "b"}).has_value());
  EXPECT_TRUE(absl::IsInternal(table.define(operation(7, "b"))));
}

TEST(OperationTable, ANameThatServesOnceHasNoId) {
  OperationTable table;
  ASSERT_EQ(table.define(operation(7, "a", kNoSlot)), absl::OkStatus());
  EXPECT_NE(table.find(7), nullptr);
  EXPECT_FALSE(table.id_of({.name = "a"}).has_value());
}

TEST(OperationTable, ErasingAnOldIdLeavesTheNamesNewOne) {
  OperationTable table;
  ASSERT_EQ(table.define(operation(1, "a")), absl::OkStatus());
  ASSERT_EQ(table.define(operation(2, "a")), absl::OkStatus());
  table.erase(1);
  EXPECT_EQ(table.id_of({.name = "a"}), 2u);
  table.forget_name(2);
  EXPECT_FALSE(table.id_of({.name = "a"}).has_value());
  EXPECT_NE(table.find(2), nullptr);
}

TEST(OperationTable, KnowsTheOperationOfARecord) {
  OperationTable table;
  ASSERT_EQ(table.define(operation(3, "a")), absl::OkStatus());
  for (const RecordKind kind :
       {RecordKind::kRun, RecordKind::kRetire, RecordKind::kCycle}) {
    EXPECT_TRUE(table.knows({.kind = kind, .id = 3}));
    EXPECT_FALSE(table.knows({.kind = kind, .id = 4}));
  }
  EXPECT_TRUE(table.knows({.kind = RecordKind::kLeave, .id = 4}));
}

TEST(OperationTable, ListsIdsInAStateInOrder) {
  OperationTable table;
  for (const std::uint32_t id : {5u, 1u, 3u}) {
    ASSERT_EQ(table.define(operation(id, std::to_string(id))),
              absl::OkStatus());
  }
  table.find(5)->state = Operation::State::kMarked;
  table.find(3)->state = Operation::State::kMarked;
  EXPECT_THAT(table.ids_in(Operation::State::kMarked), ElementsAre(3, 5));
  EXPECT_THAT(table.ids_in(Operation::State::kDeferred), IsEmpty());
}

}  // namespace
}  // namespace hvd::coordinator
