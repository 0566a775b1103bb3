// SPDX-License-Identifier: Apache-2.0
// A Recorder writes a rank's events into its ring: always, also where nothing
// reads them.
//
//   const auto recorder = Recorder::open();
//   const std::uint32_t name = recorder->name("allreduce", "fc1.weight");
//   recorder->write(EventKind::kSubmitted, {.name = name, .value = 4096});
//
// The memory is the launcher's, if that offers some, so that the launcher can
// read it after the process. Otherwise, and for every other rank of the
// process, it is the process's own.
//
// Thread-safe. write() takes no lock and allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/event_ring.h"

namespace hvd::trace {

// The name of a launcher's memory, as /proc/PID/fd shows it.
inline constexpr char kMemoryName[] = "horovodpp trace";

class Recorder {
 public:
  // `launcher`: the descriptor of the launcher's memory, which is closed once
  // it is mapped; -1, or any other descriptor: the launcher offers none. Never
  // nullptr.
  static std::shared_ptr<Recorder> open(int launcher = -1);

  // Memory for the rank that a launcher starts: its descriptor, which is closed
  // on exec, or -1.
  static int make_memory();

  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  std::uint64_t now() const { return ring_.now(); }

  struct Values {
    std::uint8_t detail = 0;
    std::uint16_t label = 0;
    std::uint32_t name = 0;
    std::uint64_t value = 0;
  };
  void write(EventKind kind, const Values& values, std::uint64_t ticks) {
    ring_.write({.ticks = ticks,
                 .kind = kind,
                 .detail = values.detail,
                 .label = values.label,
                 .name = values.name,
                 .value = values.value});
  }
  void write(EventKind kind, const Values& values) {
    write(kind, values, now());
  }
  void begin_job(int rank, int size) {
    ring_.set_place(rank, size);
    write(EventKind::kJobBegins,
          {.value = pack(static_cast<std::uint64_t>(size),
                         static_cast<std::uint64_t>(rank))});
  }

  // The number of a name; the same for the same texts. Takes a lock: keep it.
  std::uint32_t name(std::string_view operation, std::string_view text);
  // The number of a name that is not kept, for a text that is used once.
  std::uint32_t add_once(std::string_view text);
  // The number of a label, of which there are few; kNoName if there are many.
  std::uint16_t label(std::string_view text);

  // Whether a thread reads all events, and wants batches with all their
  // entries.
  bool is_followed() const {
    return followers_.load(std::memory_order_relaxed) > 0;
  }
  void follow() { followers_.fetch_add(1); }
  void unfollow() { followers_.fetch_sub(1); }

  RingReader reader() const { return RingReader(memory_); }

 private:
  explicit Recorder(std::byte* memory);
  static std::shared_ptr<Recorder> of_launcher(int fd);

  std::byte* const memory_;
  EventRing ring_;
  std::atomic<int> followers_{0};
  Mutex mutex_;
  // By the operation, a zero byte, and the text.
  absl::flat_hash_map<std::string, std::uint32_t> names_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace hvd::trace
