// SPDX-License-Identifier: Apache-2.0
// collectives_benchmark: the time that the ranks of a job take for an allreduce
// through the runtime and through plain MPI, compared with a bare copy.
//
//   horovodrun -np 2 collectives_benchmark [--json FILE] [--only PATTERN]
//
// docs/benchmarks.md describes the measurements and how to read them.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"
#include "test/benchmark/contender.h"
#include "test/benchmark/guarded_main.h"
#include "test/benchmark/measure.h"
#include "test/benchmark/report.h"
#include "test/benchmark/workload.h"

namespace hvd::benchmark {
namespace {

struct Options {
  std::string json = {};
  std::string only = {};
  int repeats = 0;
  bool tiny = false;
};

// This thread calls MPI concurrently with the runtime's thread.
absl::Status check_thread_level() {
  int is_initialized = 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_initialized);
  if (is_initialized != 0) MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "MPI does not run here, or not with MPI_THREAD_MULTIPLE; start this "
      "program with horovodrun");
}

absl::StatusOr<Result> run_one(const Workload& workload, MPI_Comm comm) {
  HVD_ASSIGN_OR_RETURN(const auto all, contenders(workload, comm));
  HVD_ASSIGN_OR_RETURN(std::vector<Measured> measured,
                       measure(workload, all, comm));
  return Result{workload, size(), std::move(measured)};
}

absl::Status run(const Options& options, MPI_Comm comm) {
  const std::regex only(options.only);
  std::vector<Result> results;
  if (rank() == 0) std::fputs(table_head().c_str(), stdout);
  for (Workload& workload : workloads(options.tiny)) {
    if (!std::regex_search(workload.name, only)) continue;
    if (options.repeats > 0) workload.repeats = options.repeats;
    HVD_ASSIGN_OR_RETURN(Result result, run_one(workload, comm));
    if (rank() != 0) continue;
    std::fputs(table_lines(result).c_str(), stdout);
    std::fflush(stdout);
    results.push_back(std::move(result));
  }
  if (rank() != 0 || options.json.empty()) return absl::OkStatus();
  std::ofstream file(options.json);
  file << to_json(results);
  file.close();
  return file.good()
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat("cannot write ", options.json));
}

int main(int argc, char** argv) {
  CLI::App app("Collectives through the runtime, MPI, and a bare copy.");
  Options options;
  app.add_option("--json", options.json, "a file for the results");
  app.add_option("--only", options.only, "workloads whose name matches");
  app.add_option("--repeats", options.repeats, "instead of each one's own");
  app.add_flag("--tiny", options.tiny, "small tensors, to see that it runs");
  CLI11_PARSE(app, argc, argv);

  throw_if_error(init());
  throw_if_error(check_thread_level());
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  throw_if_error(run(options, comm));
  MPI_Comm_free(&comm);
  throw_if_error(shutdown());
  return 0;
}

}  // namespace
}  // namespace hvd::benchmark

int main(int argc, char** argv) {
  return hvd::benchmark::guarded_main(hvd::benchmark::main, argc, argv);
}
