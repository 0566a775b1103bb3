// SPDX-License-Identifier: Apache-2.0
// JobMetrics turns a rank's events into metrics. Their labels are the rank, the
// kind of operation ("allreduce") and the plane ("shm"), never a tensor, so
// that their number is bounded.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/event_ring.h"
#include "horovodpp/telemetry/metrics/histogram.h"
#include "horovodpp/telemetry/metrics/metric.h"
#include "horovodpp/telemetry/trace/operations.h"

namespace hvd::telemetry {

class JobMetrics {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    // The name of a number in events.
    std::function<trace::Name(std::uint32_t)> name;
    // The nanoseconds of a number of ticks.
    std::function<std::uint64_t(std::uint64_t)> nanoseconds;
  };
  explicit JobMetrics(Options options);

  // `operations` are as after the event.
  void add(const trace::Event& event, const Operations& operations);
  // `count` events before the next one are missing.
  void missed(std::uint64_t count);

  // In the order of names. Series of one name follow each other.
  std::vector<Metric> snapshot() const;

 private:
  struct OfKind {
    std::uint64_t failed = 0;
    double blocked = 0;  // Seconds.
    Histogram negotiation{kSecondsOfBatch};
  };
  struct OfPlane {
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    Histogram batch_seconds{kSecondsOfBatch};
    Histogram batch_operations{kOperations};
    Histogram batch_bytes{kBytes};
  };
  using Place = std::pair<std::string, std::string>;  // Kind and plane.

  // "allreduce"; of a name.
  const std::string& kind(std::uint32_t name);
  OfPlane& of_plane(const std::string& kind, std::uint16_t plane);
  double seconds(std::uint64_t from, std::uint64_t to) const;
  void done_at_once(const trace::Event& event);
  void batch_ends(const Batch& batch, trace::BatchEnd how, std::uint64_t ticks);
  void done(const Batch& batch, std::uint64_t ticks);
  void step_ends(const trace::Event& event);
  void job_begins(const trace::Event& event);
  void job_breaks(const Batch& in_flight, std::uint64_t ticks);
  void unblocked(const Operation& operation, std::uint64_t ticks);

  const Options options_;
  int rank_;
  int size_;
  std::uint64_t lost_events_ = 0;
  std::uint64_t breaks_ = 0;
  std::uint64_t reforms_ = 0;
  bool is_broken_ = false;
  std::uint64_t steps_ = 0;
  Histogram step_seconds_{kSecondsOfStep};
  std::optional<std::uint64_t> last_step_;  // Ticks.
  std::map<std::string, OfKind> by_kind_;
  std::map<Place, OfPlane> by_place_;

  std::size_t in_flight_ = 0;

  absl::flat_hash_map<std::uint32_t, std::string> kinds_;   // By name.
  absl::flat_hash_map<std::uint16_t, std::string> planes_;  // By label.
};

}  // namespace hvd::telemetry
