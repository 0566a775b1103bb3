// SPDX-License-Identifier: Apache-2.0
// A JobTuning joins a job's tuner with its files: what earlier jobs found, and
// the log. Rank 0 has both; other ranks only measure.
#pragma once

#include <memory>
#include <optional>

#include "horovodpp/coordinator/root/tuner.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/runtime/execution/cache_file.h"
#include "horovodpp/runtime/job/tuning_log.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/telemetry/log.h"

namespace hvd::runtime {

class JobTuning {
 public:
  // `log` outlives this object. Reads the file of earlier jobs.
  JobTuning(const Config& config, const Topology& topology,
            telemetry::Log& log);

  // Steps of a measurement; 0: nothing is tuned.
  int steps() const { return steps_; }
  // Refers to this object.
  coordinator::Tuner::Options options();
  // The job has ended: writes the files. `tuner` nullptr: this rank has none.
  void finish(coordinator::Tuner* tuner);

 private:
  static std::string key(const Config& config, const Topology& topology);
  coordinator::TuningMemory load();
  void store(const coordinator::TuningMemory& memory);

  telemetry::Log& log_;
  const int steps_;
  const int warm_ups_;
  const int trials_;
  const CacheFile file_;
  std::optional<TuningLog> samples_;
  bool has_failed_ = false;  // To store.
};

}  // namespace hvd::runtime
