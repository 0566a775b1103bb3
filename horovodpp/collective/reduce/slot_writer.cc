// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/slot_writer.h"

#include <chrono>
#include <cstring>

namespace hvd::collective {

void SlotWriter::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (steps_ >= kStepsBetween && bytes >= 2 * kTried) {
    compare(to, from);
    to += 2 * kTried;
    from += 2 * kTried;
    bytes -= 2 * kTried;
    steps_ = 0;
  }
  if (streams_) {
    stream_copy(to, from, bytes);
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

// After a streaming copy its readers wait for memory, so it has to be faster by
// more than that.
void SlotWriter::compare(std::byte* to, const std::byte* from) {
  using std::chrono::steady_clock;
  constexpr int kAdvantage = 2;
  constexpr std::size_t kWarmUp = 1024;
  // The copies start from near memory, after a first one has loaded the code, so
  // that the time to fetch either does not count.
  alignas(64) std::byte near[2 * kTried + kWarmUp];
  std::memcpy(near, from, 2 * kTried);
  stream_copy(near + 2 * kTried, near, kWarmUp);
  finish_streams();
  const auto start = steady_clock::now();
  std::memcpy(to, near, kTried);
  const auto between = steady_clock::now();
  stream_copy(to + kTried, near + kTried, kTried);
  finish_streams();
  const auto end = steady_clock::now();
  streams_ = between - start > kAdvantage * (end - between);
}

// Without this target compilers emit a prefetch for reading. x86-64 processors
// that lack the instruction ignore it.
#if defined(__x86_64__)
__attribute__((target("prfchw")))
#endif
void fetch_to_write(const std::byte* memory, std::size_t bytes) {
  constexpr std::size_t kFetchedBytes = 64;
  for (std::size_t at = 0; at < bytes; at += kFetchedBytes) {
    __builtin_prefetch(memory + at, 1);
  }
}

}  // namespace hvd::collective
