// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/arena/arena.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/creator_process.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/node/shared_memory.h"

namespace hvd {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// The next extent is at least as long as all present extents together, up to
// kDoubling, and at least 1/kGrowth of them.
constexpr std::size_t kDoubling = std::size_t{16} << 20;
constexpr std::size_t kGrowth = 8;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

class Arena::State {
 public:
  explicit State(const Options& options) : options_(options) {}

  absl::StatusOr<void*> allocate(std::size_t bytes);
  absl::Status deallocate(void* memory);
  std::size_t in_use() const;
  std::size_t peak() const;
  std::size_t reserved() const;
  std::optional<Place> find(const void* memory, std::size_t bytes) const;
  std::uint32_t extents() const;
  const transport::SharedMemory& extent(std::uint32_t extent) const {
    return *extents_[extent];
  }

 private:
  using Block = std::pair<std::byte*, std::size_t>;
  using BySize = std::set<std::pair<std::size_t, std::byte*>>;

  absl::Status add_extent(std::size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void put_free(Block block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool begins_extent(const std::byte* at) const;

  const Options options_;
  const CreatorProcess home_{"a rank"};
  // Each is written once, before `count_` includes it.
  std::array<std::unique_ptr<transport::SharedMemory>, kMaxExtents> extents_;
  std::atomic<std::uint32_t> count_{0};

  mutable Mutex mutex_;
  std::map<std::byte*, std::size_t> free_ ABSL_GUARDED_BY(mutex_);
  BySize free_by_size_ ABSL_GUARDED_BY(mutex_);
  std::map<std::byte*, std::size_t> used_ ABSL_GUARDED_BY(mutex_);
  std::size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t peak_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::StatusOr<void*> Arena::State::allocate(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(-1) / 2) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no arena has ", bytes, " bytes"));
  }
  bytes = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  HVD_RETURN_IF_ERROR(home_.check());
  MutexLock lock(mutex_);
  auto best = free_by_size_.lower_bound({bytes, nullptr});
  if (best == free_by_size_.end()) {
    HVD_RETURN_IF_ERROR(add_extent(bytes));
    best = free_by_size_.lower_bound({bytes, nullptr});
  }
  const auto [size, memory] = *best;
  free_by_size_.erase(best);
  free_.erase(memory);
  if (size > bytes) put_free({memory + bytes, size - bytes});
  used_.emplace(memory, bytes);
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return static_cast<void*>(memory);
}

absl::Status Arena::State::add_extent(std::size_t bytes) {
  const std::uint32_t number = count_.load(std::memory_order_relaxed);
  if (number == kMaxExtents) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the arena has ", kMaxExtents, " extents of ", reserved_,
                     " bytes in total, and cannot have more"));
  }
  const std::size_t left = options_.most_bytes - reserved_;
  if (bytes > left) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the arena has ", reserved_, " bytes and no room for ",
                     bytes, " more within its limit of ", options_.most_bytes));
  }
  std::size_t size =
      std::max({bytes, options_.first_extent_bytes,
                std::min(reserved_, kDoubling), reserved_ / kGrowth});
  size = round_up(size, size < kHugePage ? kAlignment : kHugePage);
  if (size > left) size = bytes;
  auto memory = transport::SharedMemory::create(size);
  if (!memory.ok() && size > bytes) {
    size = bytes;
    memory = transport::SharedMemory::create(size);
  }
  HVD_RETURN_IF_ERROR(memory.status());
  extents_[number] = *std::move(memory);
  reserved_ += size;
  count_.store(number + 1, std::memory_order_release);
  put_free({extents_[number]->data(), size});
  return absl::OkStatus();
}

// Joins adjacent free blocks, but not across the border of an extent.
void Arena::State::put_free(Block block) {
  const auto next = free_.lower_bound(block.first);
  if (next != free_.end() && next->first == block.first + block.second &&
      !begins_extent(next->first)) {
    block.second += next->second;
    free_by_size_.erase({next->second, next->first});
    free_.erase(next);
  }
  const auto after = free_.lower_bound(block.first);
  if (after != free_.begin() && !begins_extent(block.first)) {
    const auto before = std::prev(after);
    if (before->first + before->second == block.first) {
      block = {before->first, before->second + block.second};
      free_by_size_.erase({before->second, before->first});
      free_.erase(before);
    }
  }
  free_.emplace(block.first, block.second);
  free_by_size_.emplace(block.second, block.first);
}

absl::Status Arena::State::deallocate(void* memory) {
  if (!home_.is_here() && find(memory, 0)) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(home_.check());
  MutexLock lock(mutex_);
  const auto found = used_.find(static_cast<std::byte*>(memory));
  if (found == used_.end()) {
    return absl::InvalidArgumentError(
        "this memory was not allocated by this arena, or was deallocated "
        "before");
  }
  const Block block = *found;
  used_.erase(found);
  in_use_ -= block.second;
  put_free(block);
  return absl::OkStatus();
}

bool Arena::State::begins_extent(const std::byte* at) const {
  for (std::uint32_t i = 0; i < extents(); ++i) {
    if (extents_[i]->data() == at) return true;
  }
  return false;
}

std::optional<Arena::Place> Arena::State::find(const void* memory,
                                               std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uint32_t count = extents();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(extents_[i]->data());
    const std::size_t size = extents_[i]->bytes();
    if (address < begin || address - begin > size) continue;
    const std::uint64_t offset = address - begin;
    // The end of one extent may be the beginning of the next.
    if (bytes > size - offset) continue;
    return Place{.extent = i, .offset = offset};
  }
  return std::nullopt;
}

std::uint32_t Arena::State::extents() const {
  return count_.load(std::memory_order_acquire);
}

std::size_t Arena::State::in_use() const {
  MutexLock lock(mutex_);
  return in_use_;
}

std::size_t Arena::State::peak() const {
  MutexLock lock(mutex_);
  return peak_;
}

std::size_t Arena::State::reserved() const {
  MutexLock lock(mutex_);
  return reserved_;
}

Arena::Arena(const Options& options)
    : state_(std::make_unique<State>(options)) {}
Arena::~Arena() = default;

StatusOr<void*> Arena::allocate(std::size_t bytes) {
  return state_->allocate(bytes);
}
Status Arena::deallocate(void* memory) { return state_->deallocate(memory); }
std::size_t Arena::in_use() const { return state_->in_use(); }
std::size_t Arena::peak() const { return state_->peak(); }
std::size_t Arena::reserved() const { return state_->reserved(); }
std::optional<Arena::Place> Arena::find(const void* memory,
                                        std::size_t bytes) const {
  return state_->find(memory, bytes);
}
std::uint32_t Arena::extents() const { return state_->extents(); }
const transport::SharedMemory& Arena::extent(std::uint32_t extent) const {
  return state_->extent(extent);
}

}  // namespace hvd
