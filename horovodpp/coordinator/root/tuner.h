// SPDX-License-Identifier: Apache-2.0
// The Tuner chooses the batches of cycles: their order and where they are cut.
// It fits a model to the times of batches, computes the best cut for the
// measured arrivals of the tensors, and tries the cut if the model promises a
// gain. If the steps do not become faster, it goes back.
//
// - A cut that lost is not tried again, and three lost trials end the search.
// - A trial that loses although the model still prefers it ends the search, too:
//   the model does not know what delays these steps.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/protocol/cycle.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/root/fusion_planner.h"
#include "horovodpp/coordinator/tuning/batch_cut.h"
#include "horovodpp/coordinator/tuning/path_fit.h"
#include "horovodpp/coordinator/tuning/tuning_memory.h"

namespace hvd::coordinator {

// A measurement of a cycle.
struct TuningSample {
  double step_seconds = 0;
  double bytes = 0;          // Of a step.
  double largest_batch = 0;  // Bytes.
  std::size_t batches = 0;
};

class Tuner {
 public:
  struct Options {
    FusionOptions fusion = {};
    // Measurements of a model before the first trial, and most trials.
    int warm_ups = 0;
    int max_trials = 20;
    // Called with each measurement.
    std::function<void(const TuningSample&)> on_sample = {};
    TuningMemory memory = {};
  };
  explicit Tuner(Options options);

  // A batch outside of a cycle took `seconds`.
  void ran(const Batch& batch, double seconds);

  // `usual` is to be put in force, a cycle of the operations `ids`, described by
  // `step`. Returns the cycle to put in force instead.
  Cycle begin(const std::vector<std::uint32_t>& ids,
              std::span<const Candidate> step, const Cycle& usual);
  // No cycle of begin() is in force from now on.
  void forget() { model_ = nullptr; }

  // A measurement has come. Returns the cycle to change to, if any.
  std::optional<Cycle> measured(const Measured& found);
  // Ranks left the cycle in its first step. Returns the cycle to change to, if
  // any.
  std::optional<Cycle> could_not_follow();

  // For a later job.
  const TuningMemory& memory();
  // The sample of the best cycle of the last model.
  std::optional<TuningSample> best() const;

 private:
  struct Operation {
    std::uint32_t id = 0;
    Candidate candidate = {};
    std::size_t kind = 0;  // Operations of one kind may be in one batch.
  };
  // The cycles of one set of operations.
  struct Model {
    std::uint64_t hash = 0;
    Arrangement usual = {};
    Arrangement best = {};
    TuningSample best_sample = {};
    std::vector<Arrangement> lost = {};
    int samples = 0;
    int trials = 0;
    bool is_over = false;  // The search.
  };

  static constexpr std::size_t kPaths = 2;  // Adasum is one of its own.
  static std::size_t path_of(const Request& request);
  void describe(const std::vector<std::uint32_t>& ids,
                std::span<const Candidate> step);
  std::uint64_t hash_of_operations() const;
  Model& model_of(std::uint64_t hash);
  Arrangement arrangement_of(const Cycle& cycle) const;
  Cycle cycle_of(const Arrangement& arrangement) const;
  bool can_be(const Arrangement& arrangement) const;
  CutPiece piece(std::uint32_t operation, double arrival) const;
  std::vector<PathCurve> paths() const;
  double predicted(const Arrangement& arrangement,
                   const std::vector<double>& arrivals) const;
  Arrangement best_for(const std::vector<double>& arrivals) const;
  Cycle put_in_force(Arrangement arrangement);
  void learn(const Measured& found, const std::vector<double>& arrivals);
  std::optional<Cycle> judge(const TuningSample& sample,
                             const std::vector<double>& arrivals,
                             double spread);
  Cycle lose(bool is_over);

  const Options options_;
  TuningMemory memory_;
  std::array<PathFit, kPaths> fits_;
  absl::flat_hash_set<const Request*> seen_;  // Outside of cycles.

  // Of the cycle in force.
  std::vector<Operation> operations_;  // By name.
  std::vector<std::size_t> path_of_kind_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> index_of_;  // By id.
  Arrangement now_;
  std::uint64_t hash_ = 0;
  Model* model_ = nullptr;
  std::list<Model> models_;  // The last one first.
};

}  // namespace hvd::coordinator
