// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/cuda_memory.h"

#include <algorithm>
#include <bit>
#include <string>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::device {
namespace {

absl::Status exhausted(const absl::Status& status, const std::string& what,
                       std::size_t bytes) {
  if (status.ok()) return status;
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot allocate ", bytes, " bytes ", what, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::shared_ptr<std::byte>> allocate_on(
    const CudaContext& context, std::size_t bytes) {
  if (bytes == 0) return std::shared_ptr<std::byte>();
  const CurrentContext current(context);
  HVD_RETURN_IF_ERROR(current.status());
  CuAddress memory = 0;
  HVD_RETURN_IF_ERROR(exhausted(
      status_of(*context.api, context.api->cuMemAlloc_v2(&memory, bytes),
                "cuMemAlloc"),
      absl::StrCat("on GPU ", context.index), bytes));
  return std::shared_ptr<std::byte>(
      std::bit_cast<std::byte*>(memory), [context](std::byte* gone) {
        const CurrentContext owner(context);
        context.api->cuMemFree_v2(std::bit_cast<CuAddress>(gone));
      });
}

PinnedMemory::~PinnedMemory() { release(); }

void PinnedMemory::release() {
  const CurrentContext current(context_);
  if (memory_ != nullptr) context_.api->cuMemFreeHost(memory_);
  memory_ = nullptr;
  bytes_ = 0;
}

absl::StatusOr<std::byte*> PinnedMemory::at_least(std::size_t bytes) {
  if (bytes > bytes_) {
    const std::size_t grown = std::max(bytes, bytes_ + bytes_ / 2);
    release();
    const CurrentContext current(context_);
    HVD_RETURN_IF_ERROR(current.status());
    HVD_RETURN_IF_ERROR(
        exhausted(status_of(*context_.api,
                            context_.api->cuMemHostAlloc(
                                &memory_, grown, kCuMemHostAllocPortable),
                            "cuMemHostAlloc"),
                  "of pinned memory", grown));
    bytes_ = grown;
  }
  return static_cast<std::byte*>(memory_);
}

}  // namespace hvd::device
