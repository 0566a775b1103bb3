// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/c/call.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/telemetry/metrics/metric.h"

namespace {

using hvd::Status;
using hvd::c::call;
using hvd::c::call_for;
using hvd::c::check_not_null;

constexpr std::int32_t kNone = -1;

std::int32_t number(int (*get)()) { return call_for<std::int32_t>(kNone, get); }

// The value that a series has under `name`.
std::optional<double> value_of(const hvd::Metric& metric,
                               std::string_view name) {
  if (metric.type != hvd::MetricType::kHistogram) {
    return metric.name == name ? std::optional(metric.value) : std::nullopt;
  }
  if (metric.name + "_sum" == name) return metric.value;
  if (metric.name + "_count" != name) return std::nullopt;
  return static_cast<double>(metric.buckets.back().count);
}

static_assert(HVD_C_VERSION == HVD_VERSION);

}  // namespace

const char* hvd_version() { return hvd::version(); }

std::int32_t hvd_version_number() { return HVD_VERSION; }

std::int32_t hvd_init(std::int32_t headers) {
  return call([&] { return hvd::init(hvd::Headers(headers)); });
}

std::int32_t hvd_shutdown() { return call(hvd::shutdown); }

std::int32_t hvd_abort(const char* why) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(why, "why"));
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    runtime->abort(why);
    return {};
  });
}

std::int32_t hvd_reform() { return call(hvd::reform); }

std::int32_t hvd_waiting_newcomers() { return number(hvd::waiting_newcomers); }
std::int32_t hvd_grow() { return call(hvd::grow); }

std::int32_t hvd_start_timeline(const char* path, std::int32_t mark_cycles) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(path, "path"));
    return hvd::start_timeline(path, {.mark_cycles = mark_cycles != 0});
  });
}

std::int32_t hvd_stop_timeline() { return call(hvd::stop_timeline); }

std::int32_t hvd_mark_step() { return call(hvd::mark_step); }

std::int32_t hvd_metric(const char* name, double* value) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(name, "name"));
    HVD_RETURN_IF_ERROR(check_not_null(value, "value"));
    HVD_ASSIGN_OR_RETURN(const std::vector<hvd::Metric> all, hvd::metrics());
    bool is_found = false;
    double sum = 0;
    for (const hvd::Metric& metric : all) {
      const std::optional<double> part = value_of(metric, name);
      if (!part) continue;
      is_found = true;
      sum += *part;
    }
    if (!is_found) {
      return absl::NotFoundError(
          absl::StrCat("no series of a metric is named ", name));
    }
    *value = sum;
    return {};
  });
}

std::int32_t hvd_begin_span(const char* work) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(work, "work"));
    hvd::trace::begin_span(work);
    return {};
  });
}

std::int32_t hvd_end_span(const char* work) {
  return call([&]() -> Status {
    HVD_RETURN_IF_ERROR(check_not_null(work, "work"));
    hvd::trace::end_span(work);
    return {};
  });
}

std::int32_t hvd_job_status() {
  return call([]() -> Status {
    HVD_ASSIGN_OR_RETURN(const auto runtime, hvd::find_runtime());
    return runtime->status();
  });
}

std::int32_t hvd_is_initialized() {
  return call_for(0, [] { return hvd::is_initialized() ? 1 : 0; });
}

std::int32_t hvd_mpi_built() {
  return call_for(0, [] { return hvd::mpi_built() ? 1 : 0; });
}

std::int32_t hvd_rank() { return number(hvd::rank); }
std::int32_t hvd_size() { return number(hvd::size); }
std::int32_t hvd_local_rank() { return number(hvd::local_rank); }
std::int32_t hvd_local_size() { return number(hvd::local_size); }
std::int32_t hvd_cross_rank() { return number(hvd::cross_rank); }
std::int32_t hvd_cross_size() { return number(hvd::cross_size); }

std::int32_t hvd_is_homogeneous() {
  return call_for<std::int32_t>(kNone,
                                [] { return hvd::is_homogeneous() ? 1 : 0; });
}
