// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/memory_ledger.h"

#include <algorithm>
#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/base/device_allocator.h"

namespace hvd::autograd {
namespace {

// Guards the ledger and its life.
Mutex& mutex() {
  static Mutex* const instance = new Mutex;
  return *instance;
}

// A new list is copied for a peak that is higher by this part.
constexpr double kNoticed = 1e-3;

}  // namespace

constinit std::atomic<MemoryLedger*> MemoryLedger::current{nullptr};

MemoryLedger::MemoryLedger(Device device) : device_(device) {
  MutexLock lock(mutex());
  if (exists()) {
    throw Error(absl::FailedPreconditionError(
        "memory is watched already; only one MemoryWatch may exist at a time"));
  }
  older_bytes_ = allocator_of(device).stats().current_bytes;
  bytes_ = older_bytes_;
  current.store(this);
}

MemoryLedger::~MemoryLedger() {
  MutexLock lock(mutex());
  current.store(nullptr);
}

std::uint64_t MemoryLedger::id_of(const Block& block) {
  MutexLock lock(mutex());
  return find_or_add(block).id;
}

void MemoryLedger::set_phase(const std::string& phase) {
  MutexLock lock(mutex());
  phase_ = phase;
}

MemoryLedger::Peak MemoryLedger::peak() const {
  MutexLock lock(mutex());
  return peak_;
}

void MemoryLedger::allocated(const Block& block) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = of(block);
  if (ledger == nullptr) return;
  ledger->add(block);
  ledger->bytes_ += block.bytes;
  ledger->compare_with_peak();
}

void MemoryLedger::freed(const Block& block) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = of(block);
  if (ledger == nullptr) return;
  if (ledger->entries_.erase(block.storage) > 0) {
    ledger->bytes_ -= block.bytes;
  } else if (block.is_allocated) {
    ledger->bytes_ -= block.bytes;
    ledger->older_bytes_ -= block.bytes;
  }
}

void MemoryLedger::saved(const Block& block, const std::string& maker) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = of(block);
  Entry* const entry = ledger == nullptr ? nullptr : ledger->find(block);
  if (entry == nullptr) return;
  if (++entry->saved == 1) entry->maker = maker;
}

void MemoryLedger::unsaved(const Block& block) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = of(block);
  Entry* const entry = ledger == nullptr ? nullptr : ledger->find(block);
  // It may have been saved before the ledger began.
  if (entry != nullptr) entry->saved = std::max(entry->saved - 1, 0);
}

void MemoryLedger::is_gradient(const Block& block, const Block& leaf) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = of(block);
  if (ledger == nullptr) return;
  const std::uint64_t of = ledger->find_or_add(leaf).id;
  ledger->find_or_add(block).gradient_of = of;
}

MemoryLedger* MemoryLedger::of(const Block& block) {
  MemoryLedger* const ledger = current.load();
  const bool is_watched = ledger != nullptr && ledger->device_ == block.device;
  return is_watched ? ledger : nullptr;
}

MemoryLedger::Entry* MemoryLedger::find(const Block& block) {
  const auto found = entries_.find(block.storage);
  return found == entries_.end() ? nullptr : &found->second;
}

MemoryLedger::Entry& MemoryLedger::add(const Block& block) {
  Entry& entry = entries_[block.storage];
  entry = {.id = ++last_id_, .bytes = block.bytes};
  return entry;
}

// A storage without an entry is older than the ledger, or borrowed: then its
// memory is not the allocator's.
MemoryLedger::Entry& MemoryLedger::find_or_add(const Block& block) {
  if (Entry* const entry = find(block)) return *entry;
  if (block.is_allocated) {
    older_bytes_ -= block.bytes;
  } else {
    bytes_ += block.bytes;
  }
  Entry& entry = add(block);
  compare_with_peak();
  return entry;
}

void MemoryLedger::compare_with_peak() {
  if (static_cast<double>(bytes_) <=
      static_cast<double>(peak_.bytes) * (1 + kNoticed)) {
    return;
  }
  peak_ = {.bytes = bytes_,
           .at = std::chrono::steady_clock::now(),
           .phase = phase_,
           .older_bytes = older_bytes_};
  peak_.entries.reserve(entries_.size());
  for (const auto& [storage, entry] : entries_) {
    peak_.entries.push_back(entry);
  }
}

}  // namespace hvd::autograd
