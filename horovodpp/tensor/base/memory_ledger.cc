// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/memory_ledger.h"

#include <algorithm>
#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/base/storage.h"

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

MemoryLedger::MemoryLedger() {
  MutexLock lock(mutex());
  if (exists()) {
    throw Error(absl::FailedPreconditionError(
        "memory is watched already; only one MemoryWatch may exist at a time"));
  }
  older_bytes_ = cpu_allocator().stats().current_bytes;
  bytes_ = older_bytes_;
  current.store(this);
}

MemoryLedger::~MemoryLedger() {
  MutexLock lock(mutex());
  current.store(nullptr);
}

std::uint64_t MemoryLedger::id_of(const Storage& storage) {
  MutexLock lock(mutex());
  return find_or_add(storage).id;
}

void MemoryLedger::set_phase(const std::string& phase) {
  MutexLock lock(mutex());
  phase_ = phase;
}

MemoryLedger::Peak MemoryLedger::peak() const {
  MutexLock lock(mutex());
  return peak_;
}

void MemoryLedger::note_allocated(const Storage& storage) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = current.load();
  if (ledger == nullptr) return;
  ledger->add(storage);
  ledger->bytes_ += static_cast<std::int64_t>(storage.bytes());
  ledger->compare_with_peak();
}

void MemoryLedger::note_freed(const Storage& storage) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = current.load();
  if (ledger == nullptr) return;
  const auto bytes = static_cast<std::int64_t>(storage.bytes());
  if (ledger->entries_.erase(&storage) > 0) {
    ledger->bytes_ -= bytes;
  } else if (storage.is_allocated()) {
    ledger->bytes_ -= bytes;
    ledger->older_bytes_ -= bytes;
  }
}

void MemoryLedger::saved(const Storage& storage, const std::string& maker) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = current.load();
  Entry* const entry = ledger == nullptr ? nullptr : ledger->find(storage);
  if (entry == nullptr) return;
  if (++entry->saved == 1) entry->maker = maker;
}

void MemoryLedger::unsaved(const Storage& storage) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = current.load();
  Entry* const entry = ledger == nullptr ? nullptr : ledger->find(storage);
  // It may have been saved before the ledger began.
  if (entry != nullptr) entry->saved = std::max(entry->saved - 1, 0);
}

void MemoryLedger::is_gradient(const Storage& storage, const Storage& leaf) {
  MutexLock lock(mutex());
  MemoryLedger* const ledger = current.load();
  if (ledger == nullptr) return;
  const std::uint64_t of = ledger->find_or_add(leaf).id;
  ledger->find_or_add(storage).gradient_of = of;
}

MemoryLedger::Entry* MemoryLedger::find(const Storage& storage) {
  const auto found = entries_.find(&storage);
  return found == entries_.end() ? nullptr : &found->second;
}

MemoryLedger::Entry& MemoryLedger::add(const Storage& storage) {
  Entry& entry = entries_[&storage];
  entry = {.id = ++last_id_,
           .bytes = static_cast<std::int64_t>(storage.bytes())};
  return entry;
}

// A storage without an entry is older than the ledger, or borrowed: then its
// memory is not the allocator's.
MemoryLedger::Entry& MemoryLedger::find_or_add(const Storage& storage) {
  if (Entry* const entry = find(storage)) return *entry;
  const auto bytes = static_cast<std::int64_t>(storage.bytes());
  if (storage.is_allocated()) {
    older_bytes_ -= bytes;
  } else {
    bytes_ += bytes;
  }
  Entry& entry = add(storage);
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
