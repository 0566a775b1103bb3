// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/telemetry/metrics/job_metrics.h"

namespace hvd::telemetry {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// Makes the series of one rank.
class Series {
 public:
  explicit Series(int rank) : rank_(absl::StrCat(rank)) {}

  template <typename T>
  void counter(const char* name, const char* help, T value,
               const Labels& labels = {}) {
    add(name, help, MetricType::kCounter, labels).value =
        static_cast<double>(value);
  }
  template <typename T>
  void gauge(const char* name, const char* help, T value) {
    add(name, help, MetricType::kGauge, {}).value = static_cast<double>(value);
  }
  void histogram(const char* name, const char* help, const Histogram& histogram,
                 const Labels& labels = {}) {
    Metric& metric = add(name, help, MetricType::kHistogram, labels);
    metric.value = histogram.sum();
    metric.buckets = histogram.buckets();
  }

  std::vector<Metric> take() {
    std::sort(metrics_.begin(), metrics_.end(),
              [](const Metric& a, const Metric& b) {
                return std::tie(a.name, a.labels) < std::tie(b.name, b.labels);
              });
    return std::move(metrics_);
  }

 private:
  Metric& add(const char* name, const char* help, MetricType type,
              const Labels& labels) {
    metrics_.push_back({.name = name,
                        .help = help,
                        .type = type,
                        .labels = {{"rank", rank_}}});
    Metric& metric = metrics_.back();
    metric.labels.insert(metric.labels.end(), labels.begin(), labels.end());
    return metric;
  }

  const std::string rank_;
  std::vector<Metric> metrics_;
};

}  // namespace

std::vector<Metric> JobMetrics::snapshot() const {
  Series series(rank_);
  series.gauge("horovodpp_job_size", "Ranks of the job.", size_);
  series.counter("horovodpp_job_breaks_total",
                 "How often this rank's job broke.", breaks_);
  series.counter("horovodpp_job_reforms_total",
                 "How often this rank went on in a job of the survivors.",
                 reforms_);
  series.counter("horovodpp_lost_events_total",
                 "Events that came faster than they were counted.",
                 lost_events_);
  series.counter("horovodpp_steps_total", "Training steps of this rank.",
                 steps_);
  series.histogram("horovodpp_step_seconds",
                   "Seconds from the end of a step to the end of the next.",
                   step_seconds_);
  series.gauge("horovodpp_operations_in_flight",
               "Operations that this rank has submitted and that have not "
               "ended.",
               in_flight_);
  for (const auto& [kind, of] : by_kind_) {
    const Labels labels = {{"kind", kind}};
    series.counter("horovodpp_operations_failed_total",
                   "Operations that ended with an error.", of.failed, labels);
    series.counter("horovodpp_blocked_seconds_total",
                   "Seconds for which threads waited for operations.",
                   of.blocked, labels);
    series.histogram("horovodpp_negotiation_seconds",
                     "Seconds from a submission to the begin of its batch.",
                     of.negotiation, labels);
  }
  for (const auto& [place, of] : by_place_) {
    const Labels labels = {{"kind", place.first}, {"plane", place.second}};
    series.counter("horovodpp_operations_total", "Operations that are done.",
                   of.operations, labels);
    series.counter("horovodpp_operation_bytes_total",
                   "Bytes of this rank's tensors in operations that are done.",
                   of.bytes, labels);
    series.histogram("horovodpp_batch_seconds",
                     "Seconds from the begin of a batch to its end.",
                     of.batch_seconds, labels);
    series.histogram("horovodpp_batch_operations",
                     "Operations that a batch executes together.",
                     of.batch_operations, labels);
    series.histogram("horovodpp_batch_bytes",
                     "Bytes of this rank's tensors in a batch.", of.batch_bytes,
                     labels);
  }
  return series.take();
}

}  // namespace hvd::telemetry
