// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_memory.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_context.h"

namespace hvd::device {
namespace {

absl::Status exhausted(const absl::Status& status, const std::string& what,
                       std::size_t bytes) {
  if (status.ok()) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot allocate ", bytes, " bytes ", what, ": ", status.message()));
}

// How long an allocation waits for memory that is being freed. The GPU may
// hang.
constexpr std::chrono::seconds kFreeTimeout(30);

CuResult allocate(const CudaContext& context, CuAddress* memory,
                  std::size_t bytes) {
  const CuResult result = context.api->cuMemAlloc_v2(memory, bytes);
  if (result != kCuOutOfMemory) return result;
  context.upkeep->settle(std::chrono::steady_clock::now() + kFreeTimeout);
  return context.api->cuMemAlloc_v2(memory, bytes);
}

}  // namespace

absl::StatusOr<std::shared_ptr<std::byte>> allocate_on(
    const CudaContext& context, std::size_t bytes) {
  if (bytes == 0) return std::shared_ptr<std::byte>();
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  CuAddress memory = 0;
  HVD_RETURN_IF_ERROR(exhausted(
      status_of(*context.api, allocate(context, &memory, bytes), "cuMemAlloc"),
      absl::StrCat("on GPU ", context.index), bytes));
  return std::shared_ptr<std::byte>(
      std::bit_cast<std::byte*>(memory), [context](std::byte* gone) {
        context.upkeep->free_later([api = context.api, gone] {
          api->cuMemFree_v2(std::bit_cast<CuAddress>(gone));
        });
      });
}

PinnedMemory::~PinnedMemory() { release(); }

void PinnedMemory::release() {
  if (memory_ != nullptr) {
    context_.upkeep->free_later(
        [api = context_.api, gone = memory_] { api->cuMemFreeHost(gone); });
  }
  memory_ = nullptr;
  bytes_ = 0;
}

absl::StatusOr<std::byte*> PinnedMemory::at_least(std::size_t bytes) {
  if (bytes > bytes_) {
    const std::size_t grown = std::max(bytes, bytes_ + bytes_ / 2);
    const CurrentContext current(context_);
    HVD_RETURN_IF_ERROR(current.status());
    // Allocate first: the old memory stays if there is no more.
    void* memory = nullptr;
    HVD_RETURN_IF_ERROR(
        exhausted(status_of(*context_.api,
                            context_.api->cuMemHostAlloc(
                                &memory, grown, kCuMemHostAllocPortable),
                            "cuMemHostAlloc"),
                  "of pinned memory", grown));
    release();
    memory_ = memory;
    bytes_ = grown;
  }
  return static_cast<std::byte*>(memory_);
}

absl::StatusOr<std::unique_ptr<PinnedRange>> PinnedRange::pin(
    const CudaContext& context, std::shared_ptr<void> memory,
    std::size_t bytes) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  HVD_RETURN_IF_ERROR(
      exhausted(status_of(*context.api,
                          context.api->cuMemHostRegister_v2(
                              memory.get(), bytes, kCuMemHostRegisterPortable),
                          "cuMemHostRegister"),
                "to be pinned", bytes));
  return std::unique_ptr<PinnedRange>(
      new PinnedRange(context, std::move(memory)));
}

PinnedRange::~PinnedRange() {
  context_.upkeep->free_later([api = context_.api, gone = memory_] {
    api->cuMemHostUnregister(gone.get());
  });
}

absl::StatusOr<std::unique_ptr<CudaPool>> CudaPool::create(
    const CudaContext& context) {
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  const CudaApi& api = *context.api;
  CuPoolProperties properties;
  HVD_RETURN_IF_ERROR(
      status_of(api, api.cuDeviceGet(&properties.location_id, context.index),
                "cuDeviceGet"));
  CuPool handle = nullptr;
  HVD_RETURN_IF_ERROR(status_of(api, api.cuMemPoolCreate(&handle, &properties),
                                "cuMemPoolCreate"));
  std::unique_ptr<CudaPool> pool(new CudaPool(context, handle));
  // By default the pool returns all memory whenever the GPU is synchronized.
  std::uint64_t all = ~std::uint64_t{0};
  HVD_RETURN_IF_ERROR(status_of(
      api, api.cuMemPoolSetAttribute(handle, kCuPoolReleaseThreshold, &all),
      "cuMemPoolSetAttribute"));
  return pool;
}

CudaPool::~CudaPool() {
  const CurrentContext current(context_);
  context_.api->cuMemPoolDestroy(pool_);
}

absl::StatusOr<std::byte*> CudaPool::allocate(const CudaStream& stream,
                                              std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  CuAddress memory = 0;
  HVD_RETURN_IF_ERROR(
      exhausted(status_of(*context_.api,
                          context_.api->cuMemAllocFromPoolAsync(
                              &memory, bytes, pool_, stream.handle()),
                          "cuMemAllocFromPoolAsync"),
                absl::StrCat("on GPU ", context_.index), bytes));
  return std::bit_cast<std::byte*>(memory);
}

absl::Status CudaPool::free(const CudaStream& stream, std::byte* memory) const {
  if (memory == nullptr) return absl::OkStatus();
  const CurrentContext current(context_);
  HVD_RETURN_IF_ERROR(current.status());
  return status_of(*context_.api,
                   context_.api->cuMemFreeAsync(
                       std::bit_cast<CuAddress>(memory), stream.handle()),
                   "cuMemFreeAsync");
}

}  // namespace hvd::device
