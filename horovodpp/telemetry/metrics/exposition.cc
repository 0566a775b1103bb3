// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/exposition.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace hvd::telemetry {
namespace {

constexpr double kLastWholeNumber = 1e15;

const char* type_name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

// The shortest text that reads back as `value`; whole numbers without exponent.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value == std::trunc(value) && std::fabs(value) < kLastWholeNumber) {
    return absl::StrCat(static_cast<std::int64_t>(value));
  }
  std::array<char, 32> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), written.ptr};
}

std::string escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}});
}

// "{rank="0",le="0.5"}"; "": no labels.
std::string labels_of(const Metric& metric, const std::string& bound = "") {
  std::string out;
  const auto add = [&out](const std::string& name, const std::string& value) {
    absl::StrAppend(&out, out.empty() ? "{" : ",", name, "=\"", escaped(value),
                    "\"");
  };
  for (const auto& [name, value] : metric.labels) add(name, value);
  if (!bound.empty()) add("le", bound);
  return out.empty() ? out : out + "}";
}

// The name without "_total" in OpenMetrics, where only a counter's series have
// it.
absl::string_view family_of(const Metric& metric, TextFormat format) {
  absl::string_view family = metric.name;
  if (format == TextFormat::kOpenMetrics)
    absl::ConsumeSuffix(&family, "_total");
  return family;
}

void add_head(const Metric& metric, TextFormat format, std::string* out) {
  const absl::string_view family = family_of(metric, format);
  const bool is_open = format == TextFormat::kOpenMetrics;
  // Prometheus escapes no quotation mark in a help.
  const std::string help =
      is_open
          ? escaped(metric.help)
          : absl::StrReplaceAll(metric.help, {{"\\", "\\\\"}, {"\n", "\\n"}});
  absl::StrAppend(out, "# HELP ", family, " ", help, "\n");
  absl::StrAppend(out, "# TYPE ", family, " ", type_name(metric.type), "\n");
  if (!is_open) return;
  for (const char* unit : {"seconds", "bytes"}) {
    if (absl::EndsWith(family, absl::StrCat("_", unit))) {
      absl::StrAppend(out, "# UNIT ", family, " ", unit, "\n");
    }
  }
}

void add_series(const Metric& metric, std::string* out) {
  if (metric.type != MetricType::kHistogram) {
    absl::StrAppend(out, metric.name, labels_of(metric), " ",
                    number(metric.value), "\n");
    return;
  }
  for (const MetricBucket& bucket : metric.buckets) {
    absl::StrAppend(out, metric.name, "_bucket",
                    labels_of(metric, number(bucket.bound)), " ", bucket.count,
                    "\n");
  }
  absl::StrAppend(out, metric.name, "_sum", labels_of(metric), " ",
                  number(metric.value), "\n");
  absl::StrAppend(out, metric.name, "_count", labels_of(metric), " ",
                  metric.buckets.empty() ? 0 : metric.buckets.back().count,
                  "\n");
}

}  // namespace

std::string exposition(const std::vector<Metric>& metrics, TextFormat format) {
  std::string out;
  std::string_view last;
  for (const Metric& metric : metrics) {
    if (metric.name != last) add_head(metric, format, &out);
    last = metric.name;
    add_series(metric, &out);
  }
  if (format == TextFormat::kOpenMetrics) out += "# EOF\n";
  return out;
}

}  // namespace hvd::telemetry
