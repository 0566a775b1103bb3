// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/liveness_locks.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <new>
#include <utility>

#include "horovodpp/core/thread/thread_start.h"

namespace hvd::transport {
namespace {

// Neither a thread id nor a value with kernel flags.
constexpr std::uint32_t kLetGo = FUTEX_TID_MASK;

// As in <linux/futex.h> of Linux 5.16.
constexpr long kFutexWaitv = 449;
struct Waited {
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};
constexpr std::uint32_t kOf32Bits = 2;

void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

// When a thread ends, the kernel walks its robust list, which has one entry
// here.
struct alignas(64) LivenessLocks::Line {
  robust_list entry = {};
  Word word{0};  // The holder's thread id; 0: not held yet.
  robust_list_head list = {};
};

std::size_t LivenessLocks::bytes_needed(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Line);
}

LivenessLocks::LivenessLocks(std::span<std::byte> memory, int local_rank,
                             int ranks, Callback dies)
    : lines_(reinterpret_cast<Line*>(memory.data())),
      local_rank_(local_rank),
      ranks_(ranks),
      dies_(std::move(dies)),
      is_over_(static_cast<std::size_t>(ranks)) {
  is_over_[static_cast<std::size_t>(local_rank)] = true;
  if (ranks < 2) return;
  auto thread = start_thread("sees other ranks die", [this] { run(); });
  if (!thread.ok()) return;
  thread_ = *std::move(thread);
  holds_.wait(0);
}

LivenessLocks::~LivenessLocks() {
  if (!thread_.joinable()) return;
  stops_.store(1);
  wake_all(stops_);
  thread_.join();
}

void LivenessLocks::acquire() {
  Line& mine = lines_[local_rank_];
  mine.list.list.next = &mine.entry;
  mine.list.futex_offset = reinterpret_cast<char*>(&mine.word) -
                           reinterpret_cast<char*>(&mine.entry);
  mine.list.list_op_pending = nullptr;
  mine.entry.next = &mine.list.list;
  // Replaces the C library's list: this thread holds no robust mutexes.
  if (::syscall(SYS_set_robust_list, &mine.list, sizeof mine.list) != 0) return;
  // FUTEX_WAITERS makes the kernel wake a waiter when the thread dies.
  mine.word.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)) |
                  FUTEX_WAITERS);
  wake_all(mine.word);
}

void LivenessLocks::release() {
  Line& mine = lines_[local_rank_];
  mine.word.store(kLetGo);
  wake_all(mine.word);
  mine.list.list.next = &mine.list.list;
}

std::vector<std::uint32_t> LivenessLocks::look() {
  std::vector<std::uint32_t> seen(is_over_.size());
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (is_over_[at]) continue;
    Word& word = lines_[rank].word;
    seen[at] = word.load();
    const bool has_died = (seen[at] & FUTEX_OWNER_DIED) != 0;
    is_over_[at] = has_died || seen[at] == kLetGo;
    if (!has_died) continue;
    // The kernel wakes only one.
    wake_all(word);
    dies_(rank);
  }
  return seen;
}

bool LivenessLocks::wait(const std::vector<std::uint32_t>& seen) {
  std::vector<Waited> words;
  const auto add = [&](Word& word, std::uint32_t value) {
    words.push_back(
        {value, reinterpret_cast<std::uintptr_t>(&word), kOf32Bits, 0});
  };
  add(stops_, 0);
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (!is_over_[at]) add(lines_[rank].word, seen[at]);
  }
  const long woken = ::syscall(kFutexWaitv, words.data(), words.size(), 0,
                               nullptr, CLOCK_MONOTONIC);
  return woken >= 0 || errno == EAGAIN || errno == EINTR;
}

void LivenessLocks::run() {
  acquire();
  holds_.store(1);
  holds_.notify_one();
  try {
    while (stops_.load() == 0 && wait(look())) {
    }
  } catch (const std::bad_alloc&) {
    // PeerWatch reports deaths that are not reported here.
  }
  // Without waiting, keep the word held, so that others can detect this rank's
  // death.
  while (stops_.load() == 0) {
    ::syscall(SYS_futex, &stops_, FUTEX_WAIT, 0, nullptr, nullptr, 0);
  }
  release();
}

}  // namespace hvd::transport
