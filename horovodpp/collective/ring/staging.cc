// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/staging.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

Staging::Staging(int slots, std::size_t slot_bytes)
    : slot_bytes_((slot_bytes + kLine - 1) / kLine * kLine),
      slots_(static_cast<std::size_t>(slots)) {}

Staging::~Staging() {
  for (std::byte* slot : slots_) {
    if (slot != nullptr) ::munmap(slot, slot_bytes_);
  }
}

absl::Status Staging::map() {
  for (std::byte*& slot : slots_) {
    if (slot != nullptr) continue;
    void* memory = ::mmap(nullptr, slot_bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", slot_bytes_,
                       " bytes of staging: ", std::strerror(errno)));
    }
    slot = static_cast<std::byte*>(memory);
  }
  return absl::OkStatus();
}

void Staging::retire(std::byte* slot) {
  std::byte* const none = nullptr;
  std::replace(slots_.begin(), slots_.end(), slot, none);
}

}  // namespace hvd::collective
