// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/tensors/block_cache.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/device/cuda_memory.h"

namespace hvd::device {
namespace {

// Sizes of blocks are multiples of this.
constexpr std::size_t kBlockStep = 512;

// Small blocks have segments of their own, so that a few of them do not keep
// large segments.
constexpr std::size_t kMostSmall = std::size_t{1} << 20;
constexpr std::size_t kSmallSegment = std::size_t{2} << 20;
// Blocks up to kMostShared share segments of kSharedSegment. Larger blocks have
// a segment each.
constexpr std::size_t kMostShared = std::size_t{10} << 20;
constexpr std::size_t kSharedSegment = std::size_t{20} << 20;
constexpr std::size_t kSegmentStep = std::size_t{2} << 20;

// A remainder of a large block that is no larger stays part of the block.
constexpr std::size_t kLeastLargeRest = std::size_t{1} << 20;

// Larger than the memory of any GPU; rounding up cannot wrap.
constexpr std::size_t kMostBytes = std::size_t{1} << 46;

std::size_t rounded(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

std::size_t segment_for(std::size_t size) {
  if (size <= kMostSmall) return kSmallSegment;
  if (size <= kMostShared) return kSharedSegment;
  return rounded(size, kSegmentStep);
}

void count(std::int64_t& bytes, std::int64_t& peak, std::int64_t more) {
  bytes += more;
  peak = std::max(peak, bytes);
}

}  // namespace

absl::StatusOr<std::byte*> BlockCache::allocate(std::size_t bytes,
                                                CuStream stream) {
  if (bytes == 0) return nullptr;
  const MutexLock lock(mutex_);
  if (bytes > kMostBytes) {
    return exhausted(bytes, absl::ResourceExhaustedError("no GPU has as much"));
  }
  HVD_ASSIGN_OR_RETURN(const Blocks::iterator block,
                       found_or_reserved(rounded(bytes, kBlockStep), stream));
  HVD_RETURN_IF_ERROR(wait_for_uses(block->second));
  split(block, rounded(bytes, kBlockStep));
  Block& taken = block->second;
  taken.entry = free_.extract(key_of(block));
  taken.is_used = true;
  taken.asked = bytes;
  count(stats_.allocated_bytes, stats_.peak_allocated_bytes,
        static_cast<std::int64_t>(bytes));
  return block->first;
}

absl::StatusOr<BlockCache::Blocks::iterator> BlockCache::found_or_reserved(
    std::size_t size, CuStream stream) {
  Blocks::iterator block = find_free(size, stream);
  if (block != blocks_.end()) return block;
  absl::Status status = reserve(size, stream);
  if (absl::IsResourceExhausted(status)) {
    return_spare_segments();
    status = reserve(size, stream);
  }
  if (absl::IsResourceExhausted(status)) return exhausted(size, status);
  HVD_RETURN_IF_ERROR(status);
  return find_free(size, stream);
}

BlockCache::Blocks::iterator BlockCache::find_free(std::size_t size,
                                                   CuStream stream) {
  const bool is_small = size <= kMostSmall;
  const auto found = free_.lower_bound(Key(stream, is_small, size, nullptr));
  if (found == free_.end() || std::get<0>(*found) != stream ||
      std::get<1>(*found) != is_small) {
    return blocks_.end();
  }
  return blocks_.find(std::get<3>(*found));
}

absl::Status BlockCache::reserve(std::size_t size, CuStream stream) {
  auto segment = std::make_shared<Segment>();
  segment->bytes = segment_for(size);
  segment->stream = stream;
  segment->is_small = size <= kMostSmall;
  HVD_ASSIGN_OR_RETURN(segment->memory, allocate_on(context_, segment->bytes));
  std::byte* const begin = segment->memory.get();
  count(stats_.reserved_bytes, stats_.peak_reserved_bytes,
        static_cast<std::int64_t>(segment->bytes));
  const auto block = blocks_.try_emplace(begin).first;
  block->second.size = segment->bytes;
  block->second.segment = std::move(segment);
  insert_free(block);
  return absl::OkStatus();
}

// The rest of a free block becomes a free block.
void BlockCache::split(Blocks::iterator block, std::size_t size) {
  Block& whole = block->second;
  const std::size_t rest = whole.size - size;
  const std::size_t least = whole.segment->is_small ? 0 : kLeastLargeRest;
  if (rest <= least) return;
  free_.erase(key_of(block));
  const auto next = blocks_.try_emplace(block->first + size).first;
  next->second.segment = whole.segment;
  next->second.size = rest;
  whole.size = size;
  insert_free(next);
  insert_free(block);
}

void BlockCache::insert_free(Blocks::iterator block) {
  Block& freed = block->second;
  freed.is_used = false;
  freed.asked = 0;
  if (freed.entry.empty()) {
    free_.insert(key_of(block));
  } else {
    freed.entry.value() = key_of(block);
    free_.insert(std::move(freed.entry));
  }
}

void BlockCache::release(std::byte* memory) {
  if (memory == nullptr) return;
  const MutexLock lock(mutex_);
  auto block = blocks_.find(memory);
  if (block == blocks_.end() || !block->second.is_used) return;
  stats_.allocated_bytes -= static_cast<std::int64_t>(block->second.asked);
  insert_free(block);
  join(block, std::next(block));
  if (block != blocks_.begin()) join(std::prev(block), block);
}

void BlockCache::join(Blocks::iterator block, Blocks::iterator next) {
  if (next == blocks_.end() || block->second.is_used || next->second.is_used ||
      block->second.segment != next->second.segment) {
    return;
  }
  Block& first = block->second;
  FreeBlocks::node_type entry = free_.extract(key_of(block));
  free_.erase(key_of(next));
  first.size += next->second.size;
  std::move(next->second.uses.begin(), next->second.uses.end(),
            std::back_inserter(first.uses));
  blocks_.erase(next);
  entry.value() = key_of(block);
  free_.insert(std::move(entry));
}

// The rest of a block that is divided waits as well: it lies behind in the same
// stream.
absl::Status BlockCache::wait_for_uses(Block& block) {
  for (const auto& [stream, event] : block.uses) {
    HVD_ASSIGN_OR_RETURN(const bool is_over, event.has_completed());
    if (!is_over) HVD_RETURN_IF_ERROR(event.hold_up(block.segment->stream));
  }
  block.uses.clear();
  return absl::OkStatus();
}

absl::Status BlockCache::note_use(const void* memory, CuStream stream) {
  const MutexLock lock(mutex_);
  const auto found = holding(memory);
  if (found == blocks_.end()) return absl::OkStatus();
  Block& block = found->second;
  if (block.segment->stream == stream) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(CudaEvent event, CudaEvent::after(context_, stream));
  // The new event includes the stream's earlier work.
  std::vector<std::pair<CuStream, CudaEvent>> uses;
  for (auto& use : block.uses) {
    if (use.first != stream) uses.push_back(std::move(use));
  }
  uses.emplace_back(stream, std::move(event));
  block.uses = std::move(uses);
  return absl::OkStatus();
}

BlockCache::Blocks::iterator BlockCache::holding(const void* memory) {
  auto* const address =
      const_cast<std::byte*>(static_cast<const std::byte*>(memory));
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return blocks_.end();
  const auto before = std::prev(after);
  const bool inside = address < before->first + before->second.size;
  return inside && before->second.is_used ? before : blocks_.end();
}

void BlockCache::empty() {
  const MutexLock lock(mutex_);
  return_spare_segments();
}

// A free block that is as large as its segment is all of it.
void BlockCache::return_spare_segments() {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const Segment& segment = *block->second.segment;
    if (block->second.is_used || block->second.size != segment.bytes) {
      ++block;
      continue;
    }
    stats_.reserved_bytes -= static_cast<std::int64_t>(segment.bytes);
    free_.erase(key_of(block));
    block = blocks_.erase(block);
  }
}

absl::Status BlockCache::exhausted(std::size_t bytes,
                                   const absl::Status& why) const {
  std::size_t free = 0;
  std::size_t total = 0;
  const CurrentContext current(context_);
  const bool is_known =
      current.status().ok() &&
      context_.api->cuMemGetInfo_v2(&free, &total) == kCuSuccess;
  const std::string of_gpu =
      is_known ? absl::StrCat(free, " of its ", total, " bytes are free")
               : "how much is free is not known";
  return absl::ResourceExhaustedError(absl::StrCat(
      "GPU ", context_.index, " has no ", bytes,
      " bytes for a tensor: ", of_gpu, "; tensors of this process have ",
      stats_.allocated_bytes, " bytes of the ", stats_.reserved_bytes,
      " reserved for them, and spare memory was returned before this attempt "
      "(",
      why.message(),
      "). Free tensors, use smaller batches, or checkpoint the model"));
}

GpuMemoryStats BlockCache::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void BlockCache::reset_peaks() {
  const MutexLock lock(mutex_);
  stats_.peak_allocated_bytes = stats_.allocated_bytes;
  stats_.peak_reserved_bytes = stats_.reserved_bytes;
}

BlockCache::Key BlockCache::key_of(const Blocks::iterator& block) {
  const Segment& segment = *block->second.segment;
  return {segment.stream, segment.is_small, block->second.size, block->first};
}

}  // namespace hvd::device
