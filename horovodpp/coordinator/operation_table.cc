// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/operation_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {

absl::Status OperationTable::define(Operation operation) {
  const std::uint32_t id = operation.definition.id;
  const auto [place, is_new] = operations_.try_emplace(id);
  if (!is_new) {
    return absl::InternalError(
        absl::StrCat("the root defined id ", id, " twice"));
  }
  place->second = std::move(operation);
  Operation& added = place->second;
  if (added.serves_once()) return absl::OkStatus();
  added.has_name = true;
  if (const auto before = ids_.set(added.request(), id)) {
    find(*before)->has_name = false;
    ++changes_;
  }
  return absl::OkStatus();
}

void OperationTable::forget_name(std::uint32_t id) {
  Operation* const operation = find(id);
  if (operation == nullptr || !operation->has_name) return;
  operation->has_name = false;
  ids_.erase(operation->key(), id);
  ++changes_;
}

void OperationTable::erase(std::uint32_t id) {
  forget_name(id);
  operations_.erase(id);
}

bool OperationTable::knows(const Record& record) const {
  switch (record.kind) {
    case RecordKind::kRun:
    case RecordKind::kRetire:
    case RecordKind::kCycle:
      return operations_.contains(record.id);
    default:
      return true;  // Names no operation.
  }
}

std::vector<std::uint32_t> OperationTable::ids_in(
    Operation::State state) const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, operation] : operations_) {
    if (operation.state == state) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace hvd::coordinator
