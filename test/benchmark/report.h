// SPDX-License-Identifier: Apache-2.0
// Measurements as a table for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "test/benchmark/measure.h"
#include "test/benchmark/workload.h"

namespace hvd::benchmark {

struct Result {
  Workload workload = {};
  int ranks = 1;
  std::vector<Measured> measured = {};
};

std::string table_head();
// A line for each contender: its time, MPI's time divided by its time (the
// speedup), its time divided by memcpy's, and its processor time.
std::string table_lines(const Result& result);

// A list of objects, one per result:
//   {"workload": "64 MiB", "dtype": "float32", "bytes": 67108864, "tensors": 1,
//    "ranks": 2, "calls": 1, "repeats": 30, "contenders": [
//     {"name": "foreign", "first_quartile_us": 1, "median_us": 1,
//      "third_quartile_us": 1, "cpu_us": 1, "faster_than_mpi": 1,
//      "over_memcpy": 1}, …]}
std::string to_json(const std::vector<Result>& results);

}  // namespace hvd::benchmark
