#include "horovodpp/transport/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace hvd::transport {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel reads the word itself");

// Not FUTEX_PRIVATE: the word lies in memory that processes share.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* patience) {
  ::syscall(SYS_futex, &word, operation, value, patience, nullptr, 0);
}

}  // namespace

// seq_cst throughout: listen() announces the sleeper and ring() looks for one
// on opposite sides of the caller's flag, so one of the two sees the other.
std::uint32_t Doorbell::listen() {
  sleepers_.fetch_add(1);
  return rings_.load();
}

void Doorbell::sleep(std::uint32_t ticket, std::chrono::nanoseconds patience) {
  if (patience.count() < 0) {
    futex(rings_, FUTEX_WAIT, ticket, nullptr);
    return;
  }
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec limit = {
      .tv_sec = static_cast<std::time_t>(patience.count() / kSecond),
      .tv_nsec = static_cast<long>(patience.count() % kSecond)};
  futex(rings_, FUTEX_WAIT, ticket, &limit);
}

void Doorbell::leave() { sleepers_.fetch_sub(1); }

void Doorbell::ring() {
  if (sleepers_.load() > 0) wake();
}

std::uint32_t Doorbell::listen_for_data() {
  data_sleepers_.fetch_add(1);
  return listen();
}

void Doorbell::leave_data() {
  leave();
  data_sleepers_.fetch_sub(1);
}

void Doorbell::ring_for_data() {
  if (data_sleepers_.load() > 0) wake();
}

void Doorbell::wake() {
  rings_.fetch_add(1);
  futex(rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace hvd::transport
