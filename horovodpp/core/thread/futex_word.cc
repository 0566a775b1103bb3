// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/futex_word.h"

#include "horovodpp/core/export.h"
#include "horovodpp/core/thread/futex.h"

namespace hvd {

void FutexWord::sleep(std::uint32_t value, std::optional<TimePoint> deadline) {
  sleepers_.fetch_add(1);
  futex_wait({.word = value_, .is_shared = false}, value, deadline);
  sleepers_.fetch_sub(1);
}

HVD_EXPORT void FutexWord::wake() {
  if (sleepers_.load() == 0) return;
  if (caller_state.wakes != nullptr) return caller_state.wakes->add(value_);
  futex_wake({.word = value_, .is_shared = false});
}

void WakeTogether::add(const std::atomic<std::uint32_t>& word) {
  if (count_ == words_.size()) wake_all();
  words_[count_++] = &word;
}

// Does not read the words, which may be freed: the kernel uses addresses only
// as keys.
void WakeTogether::wake_all() {
  while (count_ > 0) {
    futex_wake({.word = *words_[--count_], .is_shared = false});
  }
}

}  // namespace hvd
