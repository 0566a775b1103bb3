#include "horovodpp/collective/staging.h"

#include <sys/mman.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

Staging::Staging(int slots, std::size_t slot_bytes)
    : slots_(slots), slot_bytes_((slot_bytes + kLine - 1) / kLine * kLine) {}

Staging::~Staging() {
  if (memory_ == nullptr || kept_) return;
  ::munmap(memory_, static_cast<std::size_t>(slots_) * slot_bytes_);
}

absl::Status Staging::map() {
  if (memory_ != nullptr) return absl::OkStatus();
  const std::size_t bytes = static_cast<std::size_t>(slots_) * slot_bytes_;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for ", bytes, " bytes of staging: ", std::strerror(errno)));
  }
  memory_ = static_cast<std::byte*>(memory);
  return absl::OkStatus();
}

}  // namespace hvd::collective
