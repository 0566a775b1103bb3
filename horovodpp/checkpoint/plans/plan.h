// SPDX-License-Identifier: Apache-2.0
// A CheckpointPlan decides which stages of a chain to keep and which to
// recompute: the fastest way to fit backward into a memory budget.
//
//   hvd::CheckpointPlan plan = hvd::plan_checkpoints(costs, 512 << 20);
//   std::cout << plan.to_string();     // "(0 1 (2 3)) (4 5) 6 7"
//
// A chain is a sequence of stages, each a function of the one before. In the
// text of a plan, a number is a stage that keeps its saved tensors. Parentheses
// are a checkpointed region; their contents describe its recomputation.
//
// Dynamic programming over (first stage, last stage, memory): Beaumont,
// Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for
// heterogeneous chains", 2019. A stage has several ways to keep, as in the same
// authors' Rockmate, 2023. The plan is the best one among those that keep
// computed tensors until their use ("memory persistent").
//
// Pure mathematics: no tensors, no clocks, no threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// One way for a stage to prepare for its backward. The first option keeps all
// saved tensors; a policy that keeps some is another.
struct KeepOption {
  std::int64_t bytes = 0;      // Kept, including the output.
  double extra_seconds = 0.0;  // Of recomputation during backward.
  // Time of forward after its last saved tensor. A recomputation that ends with
  // this stage skips it (early stop).
  double tail_seconds = 0.0;
  // Peak beyond the stage's transient bytes, in forward or backward.
  std::int64_t extra_transient_bytes = 0;
};

struct StageCost {
  double forward_seconds = 0.0;
  double backward_seconds = 0.0;
  std::int64_t output_bytes = 0;
  std::vector<KeepOption> options;  // At least one.
  // Peak beyond kept bytes.
  std::int64_t forward_transient_bytes = 0;
  std::int64_t backward_transient_bytes = 0;
  // Communication of its parameters' gradients with other ranks. It starts
  // after the stage's backward and the communication of later stages.
  double communication_seconds = 0.0;
};

struct ChainCost {
  std::int64_t input_bytes = 0;
  std::vector<StageCost> stages;
};

class CheckpointPlan {
 public:
  // A stage that keeps, or a region.
  struct Part {
    std::size_t first = 0;
    std::size_t last = 0;           // Inclusive.
    std::size_t option = 0;         // For a stage.
    std::vector<Part> inside = {};  // For a region; empty for a stage.

    bool is_region() const { return !inside.empty(); }
    friend bool operator==(const Part&, const Part&) = default;
  };

  // Keeps all stages, by their first option.
  static CheckpointPlan keep_all(std::size_t stages);
  // Regions of equal length, with the rest kept: see sequential.h.
  //   InvalidArgument  segments is below 1, or exceeds the number of stages
  static CheckpointPlan in_segments(std::size_t stages, std::int64_t segments);
  // The inverse of to_string().
  //   InvalidArgument  the text is no plan; gives the position
  static CheckpointPlan parse(std::string_view text);

  const std::vector<Part>& parts() const { return parts_; }
  std::size_t stages() const;
  // The number of forward runs of each stage in one forward and backward.
  std::vector<int> forward_runs() const;
  // An option other than the first follows its stage as in "3:1".
  std::string to_string() const;
  // Writes and reads the text as a file.
  //   hvd::Error       the file cannot be written, or read
  //   InvalidArgument  the file contains no plan
  void save(const std::string& path) const;
  static CheckpointPlan load(const std::string& path);

  friend bool operator==(const CheckpointPlan&,
                         const CheckpointPlan&) = default;

 private:
  friend class CheckpointPlanner;
  explicit CheckpointPlan(std::vector<Part> parts) : parts_(std::move(parts)) {}

  std::vector<Part> parts_;
};

// The cost of forward and backward under `plan`: seconds of computation,
// seconds until communication has ended too, and the peak of bytes without the
// chain's input.
struct PlanCost {
  double seconds = 0.0;
  double step_seconds = 0.0;
  std::int64_t peak_bytes = 0;
};
PlanCost cost_of(const CheckpointPlan& plan, const ChainCost& chain);

// The plan with the least step_seconds whose peak is at most `memory_budget`
// bytes. Recomputation that overlaps communication is free. `resolution` is the
// number of slots, the unit of memory, that keeping everything takes; long
// chains that communicate use fewer. Sizes are rounded up to slots. More memory
// never makes a plan slower.
//   InvalidArgument  the chain has no stages, or a stage has no option; a
//                    number is negative or not finite
//   hvd::Error (ResourceExhausted)  no plan fits; gives the least number of
//                                   bytes that a plan needs
CheckpointPlan plan_checkpoints(const ChainCost& chain,
                                std::int64_t memory_budget,
                                std::size_t resolution = 1000);

// The least number of bytes that a plan needs.
std::int64_t least_memory(const ChainCost& chain);

// Draws a plan (plan.h): when each stage runs forward, recomputes, runs
// backward and communicates, and the memory in use.
//
//   std::ofstream("plan.svg") << hvd::draw(plan, chain.cost_for(x));

// An SVG for these costs: time from left to right, one row per stage, memory
// below.
//   InvalidArgument  the plan is for another number of stages
std::string draw(const CheckpointPlan& plan, const ChainCost& chain);

}  // namespace hvd
