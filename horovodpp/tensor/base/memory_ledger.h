// SPDX-License-Identifier: Apache-2.0
// A MemoryLedger lists the storages of one device that live, with their
// purposes, while it exists. It keeps the list of the moment at which they took
// the most memory. Without a ledger an event costs one load.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class MemoryLedger {
 public:
  // The memory of a storage.
  struct Block {
    const void* storage = nullptr;
    std::int64_t bytes = 0;
    bool is_allocated = true;  // And not borrowed.
    Device device = {};
  };
  struct Entry {
    std::uint64_t id = 0;  // Of this storage alone.
    std::int64_t bytes = 0;
    int saved = 0;  // The number of nodes that hold it for backward.
    // Of a saved tensor: "float32[4,2] of ReluBackward".
    std::string maker = {};
    std::uint64_t gradient_of = 0;  // The id of the leaf's storage, if any.
  };
  // The moment at which storages took the most memory, to 0.1 %.
  struct Peak {
    std::int64_t bytes = 0;
    std::chrono::steady_clock::time_point at = {};
    std::string phase = {};
    std::vector<Entry> entries = {};
    // Of storages that are older than the ledger, and were not added.
    std::int64_t older_bytes = 0;
  };

  // Of the storages on `device`.
  //   hvd::Error (FailedPrecondition)  there is another ledger
  explicit MemoryLedger(Device device = Device::cpu());
  ~MemoryLedger();
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  // The id of a storage that lives.
  std::uint64_t id_of(const Block& block);
  // A name for what the program does from here on.
  void set_phase(const std::string& phase);
  Peak peak() const;

  // Events of any thread. Ask first whether a ledger exists.
  static bool exists() {
    return current.load(std::memory_order_relaxed) != nullptr;
  }
  static void allocated(const Block& block);
  static void freed(const Block& block);
  // A node holds it for backward until unsaved().
  static void saved(const Block& block, const std::string& maker);
  static void unsaved(const Block& block);
  // It holds the gradient of a leaf.
  static void is_gradient(const Block& block, const Block& leaf);

 private:
  // The ledger, if it is of the block's device; else null.
  static MemoryLedger* of(const Block& block);
  Entry* find(const Block& block);
  Entry& add(const Block& block);
  Entry& find_or_add(const Block& block);
  void compare_with_peak();

  static constinit std::atomic<MemoryLedger*> current;

  const Device device_;
  // All under one lock.
  std::uint64_t last_id_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t older_bytes_ = 0;
  std::string phase_;
  std::unordered_map<const void*, Entry> entries_;  // By storage.
  Peak peak_;
};

}  // namespace autograd
}  // namespace hvd
