// SPDX-License-Identifier: Apache-2.0
// The Tuner chooses the batches of cycles: their order and where they are cut.
// It fits a model to the times of batches, and computes the best cut for the
// measured arrivals of the tensors. It tries this cut if the model promises a
// gain, then cuts with batches half and twice as long as those of the best one.
// Cuts are compared by measured steps (tuning/cut_search.h).
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
#include "horovodpp/coordinator/tuning/cut_search.h"
#include "horovodpp/coordinator/tuning/path_fit.h"
#include "horovodpp/coordinator/tuning/tuning_memory.h"

namespace hvd::coordinator {

class Tuner {
 public:
  struct Options {
    FusionOptions fusion = {};
    // Measurements of a model before the first trial, and most trials.
    int warm_ups = 0;
    int max_trials = 20;
    // Called with each measurement.
    std::function<void(const TuningSample&)> on_sample = {};
    // Called when there is nothing more to try for now, and a faster cut has
    // been found since the last call.
    std::function<void(const TuningMemory&)> on_found = {};
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
    // From an earlier job, which has tried its neighbors.
    std::optional<Arrangement> known = {};
    CutSearch search = {};
    Arrangement found = {};  // The best cut of the last call of on_found.
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
  Arrangement arranged(const std::vector<std::uint32_t>& order,
                       const std::vector<std::size_t>& cuts) const;
  Arrangement best_for(const std::vector<double>& arrivals) const;
  std::vector<Arrangement> neighbors_of(const Arrangement& arrangement) const;
  Cycle put_in_force(Arrangement arrangement);
  void learn(const Measured& found, const std::vector<double>& arrivals);
  std::optional<Arrangement> judge(const TuningSample& sample,
                                   const std::vector<double>& arrivals,
                                   double spread);
  std::optional<Arrangement> new_cut(double step,
                                     const std::vector<double>& arrivals,
                                     double spread) const;
  void note_found();

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
