// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/tensors/pinned_cache.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "horovodpp/core/status.h"

namespace hvd::device {
namespace {

// Blocks have the sizes of powers of two, at least a page.
constexpr std::size_t kLeastPinned = 4096;

bool are_over(const std::vector<CudaEvent>& uses) {
  return std::all_of(uses.begin(), uses.end(), [](const CudaEvent& event) {
    return event.has_completed().value_or(false);
  });
}

}  // namespace

absl::StatusOr<std::byte*> PinnedCache::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  constexpr std::size_t kMost = std::size_t{1} << 46;
  if (bytes > kMost) {
    return absl::ResourceExhaustedError("no host can pin so much memory");
  }
  const std::size_t size = std::bit_ceil(std::max(bytes, kLeastPinned));
  const MutexLock lock(mutex_);
  auto block = find_free(size);
  if (block == blocks_.end()) {
    Block made{.memory = std::make_unique<PinnedMemory>(context_),
               .size = size};
    HVD_ASSIGN_OR_RETURN(std::byte* const begin, made.memory->at_least(size));
    block = blocks_.emplace(begin, std::move(made)).first;
    stats_.reserved_bytes += static_cast<std::int64_t>(size);
  }
  block->second.is_used = true;
  block->second.asked = bytes;
  block->second.uses.clear();
  stats_.current_bytes += static_cast<std::int64_t>(bytes);
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.current_bytes);
  return block->first;
}

PinnedCache::Blocks::iterator PinnedCache::find_free(std::size_t size) {
  return std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& entry) {
    const Block& block = entry.second;
    return !block.is_used && block.size == size && are_over(block.uses);
  });
}

void PinnedCache::release(std::byte* memory) {
  const MutexLock lock(mutex_);
  const auto block = blocks_.find(memory);
  if (block == blocks_.end() || !block->second.is_used) return;
  block->second.is_used = false;
  stats_.current_bytes -= static_cast<std::int64_t>(block->second.asked);
}

bool PinnedCache::holds(const void* memory) const {
  const MutexLock lock(mutex_);
  return holding(memory) != blocks_.end();
}

PinnedCache::Blocks::const_iterator PinnedCache::holding(
    const void* memory) const {
  auto* const address =
      const_cast<std::byte*>(static_cast<const std::byte*>(memory));
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return blocks_.end();
  const auto before = std::prev(after);
  const bool inside = address < before->first + before->second.size;
  return inside ? before : blocks_.end();
}

absl::Status PinnedCache::note_use(const void* memory,
                                   const CudaContext& context,
                                   CuStream stream) {
  HVD_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::after(context, stream));
  const MutexLock lock(mutex_);
  const auto found = holding(memory);
  if (found == blocks_.end()) return absl::OkStatus();
  std::vector<CudaEvent>& uses = blocks_.find(found->first)->second.uses;
  if (are_over(uses)) uses.clear();
  uses.push_back(std::move(event));
  return absl::OkStatus();
}

// Blocks are freed when the GPU's work is done (PinnedMemory).
void PinnedCache::empty() {
  const MutexLock lock(mutex_);
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    if (block->second.is_used) {
      ++block;
      continue;
    }
    stats_.reserved_bytes -= static_cast<std::int64_t>(block->second.size);
    block = blocks_.erase(block);
  }
}

PinnedCache::Stats PinnedCache::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void PinnedCache::reset_peak() {
  const MutexLock lock(mutex_);
  stats_.peak_bytes = stats_.current_bytes;
}

}  // namespace hvd::device
