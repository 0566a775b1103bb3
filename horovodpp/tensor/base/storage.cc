// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/storage.h"

#include <utility>

namespace hvd::autograd {

constinit std::atomic<std::uint64_t> Storage::newest_mark{0};

Ref<Storage> Storage::allocate(std::size_t bytes, Allocator& allocator) {
  void* data = allocator.allocate(bytes);
  auto storage =
      Ref<Storage>::adopt(new Storage(data, bytes, allocator.device()));
  storage->allocator_ = &allocator;
  if (MemoryLedger::exists()) MemoryLedger::allocated(storage->block());
  return storage;
}

Ref<Storage> Storage::borrow(void* data, std::size_t bytes, Device device,
                             std::function<void(void*)> release) {
  auto storage = Ref<Storage>::adopt(new Storage(data, bytes, device));
  if (release) {
    storage->release_ =
        std::make_unique<std::function<void(void*)>>(std::move(release));
  }
  return storage;
}

Ref<Storage> Storage::alias(Ref<Storage> storage) {
  void* data = storage->address();
  const std::size_t bytes = storage->bytes();
  const Device device = storage->device();
  return borrow(data, bytes, device, [kept = std::move(storage)](void*) {});
}

Storage::~Storage() {
  if (MemoryLedger::exists()) MemoryLedger::freed(block());
  if (allocator_ != nullptr) {
    allocator_->deallocate(address_, bytes_);
  } else if (release_ != nullptr) {
    (*release_)(address_);
  }
}

}  // namespace hvd::autograd
