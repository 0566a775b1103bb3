// SPDX-License-Identifier: Apache-2.0
// A Snapshot is a state that was loaded. See snapshots.h.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace snapshot {

class Snapshot {
 public:
  struct Value {
    std::string name;
    const std::byte* data = nullptr;
    std::size_t size = 0;
  };

  Snapshot(std::int64_t step, std::string note, std::vector<Value> values,
           std::shared_ptr<const std::byte[]> bytes)
      : step_(step),
        note_(std::move(note)),
        values_(std::move(values)),
        bytes_(std::move(bytes)) {}

  std::int64_t step() const { return step_; }
  const std::string& note() const { return note_; }
  // In the order of save().
  const std::vector<Value>& values() const { return values_; }

 private:
  std::int64_t step_;
  std::string note_;
  std::vector<Value> values_;
  std::shared_ptr<const std::byte[]> bytes_;
};

}  // namespace snapshot
}  // namespace hvd
