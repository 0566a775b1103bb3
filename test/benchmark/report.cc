// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace hvd::benchmark {
namespace {

std::string time_text(double us) {
  if (us < 1000) return absl::StrFormat("%.2f us", us);
  return absl::StrFormat("%.2f ms", us * 1e-3);
}

double median_of(const Result& result, const std::string& contender) {
  for (const Measured& one : result.measured) {
    if (one.contender == contender) return one.us.median;
  }
  return 0;
}

struct Ratios {
  double faster_than_mpi = 0;
  double over_memcpy = 0;
};

Ratios ratios(const Result& result, const Measured& one) {
  return {median_of(result, kMpi) / one.us.median,
          one.us.median / median_of(result, kMemcpy)};
}

std::string contender_json(const Result& result, const Measured& one) {
  const Ratios ratio = ratios(result, one);
  return absl::StrFormat(
      "   {\"name\": \"%s\", \"first_quartile_us\": %.4f, \"median_us\": %.4f, "
      "\"third_quartile_us\": %.4f, \"cpu_us\": %.4f, "
      "\"faster_than_mpi\": %.4f, \"over_memcpy\": %.4f}",
      one.contender, one.us.first, one.us.median, one.us.third, one.cpu_us,
      ratio.faster_than_mpi, ratio.over_memcpy);
}

std::string result_json(const Result& result) {
  const Workload& workload = result.workload;
  const std::string contenders = absl::StrJoin(
      result.measured, ",\n", [&](std::string* out, const Measured& one) {
        absl::StrAppend(out, contender_json(result, one));
      });
  return absl::StrFormat(
      " {\"workload\": \"%s\", \"dtype\": \"%s\", \"bytes\": %d, "
      "\"tensors\": %d, \"ranks\": %d, \"calls\": %d, \"repeats\": %d, "
      "\"contenders\": [\n%s]}",
      workload.name, name_of(workload.dtype), workload.bytes(),
      workload.tensors(), result.ranks, workload.calls, workload.repeats,
      contenders);
}

}  // namespace

std::string table_head() {
  return absl::StrFormat("%-16s %-14s %10s %10s %10s %8s %8s %10s\n",
                         "workload", "contender", "1st quart.", "median",
                         "3rd quart.", "x MPI", "/memcpy", "CPU/rank");
}

std::string table_lines(const Result& result) {
  std::string lines;
  for (const Measured& one : result.measured) {
    const Ratios ratio = ratios(result, one);
    absl::StrAppend(
        &lines,
        absl::StrFormat("%-16s %-14s %10s %10s %10s %8.2f %8.2f %10s\n",
                        result.workload.name, one.contender,
                        time_text(one.us.first), time_text(one.us.median),
                        time_text(one.us.third), ratio.faster_than_mpi,
                        ratio.over_memcpy, time_text(one.cpu_us)));
  }
  return lines;
}

std::string to_json(const std::vector<Result>& results) {
  const std::string all =
      absl::StrJoin(results, ",\n", [](std::string* out, const Result& result) {
        absl::StrAppend(out, result_json(result));
      });
  return absl::StrCat("[\n", all, "\n]\n");
}

}  // namespace hvd::benchmark
