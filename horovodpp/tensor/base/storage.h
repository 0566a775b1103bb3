// SPDX-License-Identifier: Apache-2.0
// A Storage is the memory that a tensor and its views share: bytes on a device,
// their allocator, and a version that counts in-place writes.
//
// Reference-counted through Ref<Storage>. The version is atomic; the bytes are
// not synchronized.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "horovodpp/core/device.h"
#include "horovodpp/core/export.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/base/intrusive_ptr.h"
#include "horovodpp/tensor/base/memory_ledger.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class Storage : public Pooled {
 public:
  // Uninitialized memory from `allocator`, which outlives the storage.
  static Ref<Storage> allocate(std::size_t bytes,
                               Allocator& allocator = cpu_allocator());

  // Memory that the caller owns. `release` is called once with `data` after the
  // last tensor on it is destroyed; it may be empty, and must not throw.
  static Ref<Storage> borrow(void* data, std::size_t bytes, Device device,
                             std::function<void(void*)> release);

  // The same memory with a separate version; keeps `storage` alive.
  static Ref<Storage> alias(Ref<Storage> storage);

  // Where the CPU finds the bytes; null for memory of a GPU, and for no bytes.
  void* data() const { return data_; }
  // The address on `device`.
  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  MemoryLedger::Block block() const {
    return {.storage = this,
            .bytes = static_cast<std::int64_t>(bytes_),
            .is_allocated = allocator_ != nullptr,
            .device = device_};
  }

  std::uint32_t version() const {
    return version_.load(std::memory_order_relaxed);
  }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  // Whether user code has seen this memory as a gradient. The engine then does
  // not add into it, for the user may still read it.
  bool exposed() const { return exposed_.load(std::memory_order_relaxed); }
  void set_exposed() { exposed_.store(true, std::memory_order_relaxed); }

  // A new mark: storages made earlier are older than the mark, later ones are
  // not. (On other threads after about a store's delay.)
  static std::uint64_t next_mark() {
    return newest_mark.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  bool is_older_than(std::uint64_t mark) const { return mark_ < mark; }
  // Whether this is the first call with `mark` since a call with another mark.
  bool first_seen_since(std::uint64_t mark) {
    return seen_.exchange(mark, std::memory_order_relaxed) != mark;
  }

  std::uint32_t owners() const {
    return owners_.load(std::memory_order_acquire);
  }
  bool unique() const { return owners() == 1; }
  void retain() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (unique() || owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 private:
  Storage(void* data, std::size_t bytes, Device device)
      : data_(device.is_cpu() ? data : nullptr),
        address_(data),
        bytes_(bytes),
        mark_(newest_mark.load(std::memory_order_relaxed)),
        device_(device) {}
  ~Storage();

  static constinit std::atomic<std::uint64_t> newest_mark;

  std::atomic<std::uint32_t> owners_{1};
  std::atomic<std::uint32_t> version_{0};
  void* data_;
  void* address_;
  std::size_t bytes_;
  std::uint64_t mark_;
  std::atomic<std::uint64_t> seen_{0};
  Device device_;
  std::atomic<bool> exposed_{false};
  Allocator* allocator_ = nullptr;  // Null: the memory is borrowed.
  std::unique_ptr<std::function<void(void*)>> release_;
};

}  // namespace autograd
}  // namespace hvd
