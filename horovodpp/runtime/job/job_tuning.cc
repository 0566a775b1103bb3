// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/job_tuning.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/version.h"

namespace hvd::runtime {
namespace {

// Of 16 models of 3,500 operations.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

}  // namespace

// All that decides how long a batch takes.
std::string JobTuning::key(const Config& config, const Topology& topology) {
  return absl::StrCat(version(), ", ", machine_key(), ", ", topology.size(),
                      " ranks on ", topology.node_count(), " nodes, by ",
                      config.rendezvous.empty() ? "mpi" : config.transport,
                      ", hierarchical ", config.hierarchical_allreduce ? 1 : 0);
}

JobTuning::JobTuning(const Config& config, const Topology& topology,
                     telemetry::Log& log)
    : log_(log),
      steps_(config.autotune && topology.size() > 1 ? config.autotune_steps
                                                    : 0),
      warm_ups_(config.autotune_warm_ups),
      trials_(config.autotune_trials),
      file_(steps_ > 0 && topology.rank() == 0 ? config.tuning_cache
                                               : std::string(),
            "tuning", key(config, topology)) {
  if (steps_ == 0 || topology.rank() != 0 || config.autotune_log.empty()) {
    return;
  }
  using Milliseconds = std::chrono::duration<double, std::milli>;
  samples_.emplace(TuningLog::Options{
      .path = config.autotune_log,
      .hierarchical_allreduce = config.hierarchical_allreduce,
      .hierarchical_allgather = config.hierarchical_allgather,
      .has_cache = config.cache_capacity > 0,
      .cycle_time_ms = Milliseconds(config.cycle_time).count(),
      .warn = [this](const std::string& text) { log_.warning(text); }});
}

coordinator::TuningMemory JobTuning::load() {
  const std::optional<std::string> content = file_.load(kMostBytes);
  if (!content) {
    if (!file_.path().empty()) {
      log_.debug(
          absl::StrCat("tuning: no earlier job has left '", file_.path(), "'"));
    }
    return {};
  }
  auto memory = coordinator::TuningMemory::from_text(*content);
  if (!memory) {
    log_.debug(
        absl::StrCat("tuning: ignores '", file_.path(), "', which is damaged"));
    return {};
  }
  return *std::move(memory);
}

coordinator::Tuner::Options JobTuning::options() {
  return {
      .warm_ups = warm_ups_,
      .max_trials = trials_,
      .on_sample =
          [this](const coordinator::TuningSample& sample) {
            if (samples_) samples_->add(sample);
            log_.debug(
                absl::StrFormat("tuning: a step takes %.3f ms with %d batches",
                                1e3 * sample.step_seconds, sample.batches));
          },
      .on_found =
          [this](const coordinator::TuningMemory& memory) { store(memory); },
      .memory = load()};
}

void JobTuning::store(const coordinator::TuningMemory& memory) {
  const absl::Status stored = file_.store(memory.to_text());
  if (stored.ok() || std::exchange(has_failed_, true)) return;
  log_.info(absl::StrCat(stored.message(),
                         ": the next job tunes its batches anew; "
                         "HOROVODPP_TUNING_CACHE names another directory"));
}

void JobTuning::finish(coordinator::Tuner* tuner) {
  if (tuner == nullptr) return;
  const std::optional<coordinator::TuningSample> best = tuner->best();
  if (samples_) samples_->finish(best);
  if (best) store(tuner->memory());
}

}  // namespace hvd::runtime
