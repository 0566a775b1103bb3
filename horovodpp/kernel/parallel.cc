// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/parallel.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "horovodpp/core/thread/threads.h"

namespace hvd::autograd {
namespace {

using Body = absl::FunctionRef<void(std::int64_t, std::int64_t)>;

// The entry that compilers call for "#pragma omp parallel". GNU's and LLVM's
// runtimes have it.
using StartTeam = void (*)(void (*)(void*), void*, unsigned, unsigned);

std::atomic<bool> is_forked_child{false};

StartTeam find_start() {
  ::pthread_atfork(nullptr, nullptr, [] { is_forked_child = true; });
  return reinterpret_cast<StartTeam>(::dlsym(RTLD_DEFAULT, "GOMP_parallel"));
}

// The threads of a team take parts until none is left, so a team of any size
// completes the loop.
struct Parts {
  Body body;
  std::int64_t count;
  std::int64_t size;
  std::atomic<std::int64_t> next{0};

  std::atomic<bool> has_failed{false};
  std::exception_ptr error = nullptr;  // Of the part that failed first.

  void run() noexcept {
    try {
      while (true) {
        const std::int64_t begin = next.fetch_add(size);
        if (begin >= count) return;
        body(begin, std::min(count, begin + size));
      }
    } catch (...) {
      if (!has_failed.exchange(true)) error = std::current_exception();
      next.store(count);
    }
  }
};

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

void split_loop(const LoopSize& loop, Body body) {
  static const StartTeam start = find_start();
  const std::int64_t threads = std::min<std::int64_t>(
      get_num_threads(), loop.count * loop.cost / kElementsPerThread);
  if (threads < 2 || start == nullptr || is_forked_child) {
    body(0, loop.count);
    return;
  }
  // A few parts per thread: another process may slow one thread down.
  constexpr std::int64_t kPartsPerThread = 4;
  const std::int64_t even =
      std::max(divided_up(loop.count, threads * kPartsPerThread),
               divided_up(kElementsPerThread / 2, loop.cost));
  Parts parts{.body = body,
              .count = loop.count,
              .size = divided_up(even, loop.multiple) * loop.multiple};
  start([](void* all) { static_cast<Parts*>(all)->run(); }, &parts,
        static_cast<unsigned>(threads), 0);
  if (parts.error != nullptr) std::rethrow_exception(parts.error);
}

}  // namespace hvd::autograd
