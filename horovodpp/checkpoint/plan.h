// SPDX-License-Identifier: Apache-2.0
// Which stages of a chain to keep and which to compute again, so that backward
// fits into a number of bytes and takes the least time.
//
//   hvd::CheckpointPlan plan = hvd::plan_checkpoints(costs, 512 << 20);
//   std::cout << plan.to_string();     // "(0 1 (2 3)) (4 5) 6 7"
//
// A chain is a sequence of stages, each a function of the one before. A plan says
// what runs how: a number is a stage that keeps what it saves; parentheses are a
// checkpointed region, whose contents are what its recomputation does.
//
// Dynamic programming over (first stage, last stage, memory): Beaumont,
// Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing for
// heterogeneous chains", 2019, with several ways for a stage to keep, as in the
// same authors' Rockmate, 2023. The plan is the best among those that keep what
// they have computed until they need it ("memory persistent").
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

// One way for a stage to be ready for its backward: everything kept is one, and
// the first; a policy that keeps some of it is another.
struct KeepOption {
  std::int64_t bytes = 0;      // Kept, with the output.
  double extra_seconds = 0.0;  // Of recomputation during backward.
  // Of its forward, behind the last tensor that it saves: what a recomputation
  // that ends with this stage leaves out (early stop).
  double tail_seconds = 0.0;
  // Needed at once beyond the stage's transient bytes, in forward or backward.
  std::int64_t extra_transient_bytes = 0;
};

struct StageCost {
  double forward_seconds = 0.0;
  double backward_seconds = 0.0;
  std::int64_t output_bytes = 0;
  std::vector<KeepOption> options;  // At least one.
  // At most needed at once beyond what is kept.
  std::int64_t forward_transient_bytes = 0;
  std::int64_t backward_transient_bytes = 0;
  // Of the gradients of its parameters to other ranks: begins when its backward
  // has ended, and the communication of the stages behind it.
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
    std::size_t last = 0;           // Included.
    std::size_t option = 0;         // Of a stage.
    std::vector<Part> inside = {};  // Of a region; of a stage none.

    bool is_region() const { return !inside.empty(); }
    friend bool operator==(const Part&, const Part&) = default;
  };

  // All stages kept, by their first option.
  static CheckpointPlan keep_all(std::size_t stages);
  // Regions of as many stages each, and the rest kept: see sequential.h.
  //   InvalidArgument  segments is below 1, or there are fewer stages
  static CheckpointPlan in_segments(std::size_t stages, std::int64_t segments);
  // As to_string() gave it.
  //   InvalidArgument  the text is no plan; says where
  static CheckpointPlan parse(std::string_view text);

  const std::vector<Part>& parts() const { return parts_; }
  std::size_t stages() const;
  // How often each stage runs forward in one forward and backward.
  std::vector<int> forward_runs() const;
  // An option other than the first follows a stage as "3:1".
  std::string to_string() const;
  // The same as a file, and back.
  //   hvd::Error  the file cannot be written, or read
  //   InvalidArgument  it holds no plan
  void save(const std::string& path) const;
  static CheckpointPlan load(const std::string& path);

  friend bool operator==(const CheckpointPlan&,
                         const CheckpointPlan&) = default;

 private:
  friend class CheckpointPlanner;
  explicit CheckpointPlan(std::vector<Part> parts) : parts_(std::move(parts)) {}

  std::vector<Part> parts_;
};

// Forward and backward of `plan` by these costs: seconds of computing, seconds
// until communication has ended as well, and the most bytes held at once beside
// the chain's input.
struct PlanCost {
  double seconds = 0.0;
  double step_seconds = 0.0;
  std::int64_t peak_bytes = 0;
};
PlanCost cost_of(const CheckpointPlan& plan, const ChainCost& chain);

// The plan of the least step_seconds whose peak is at most `memory_budget` bytes:
// where stages communicate, what is computed again meanwhile costs nothing.
// `resolution`: sizes are rounded up to slots, of which what it takes to keep
// everything has so many (fewer for long chains that communicate). More memory
// never makes a plan slower.
//   InvalidArgument  the chain has no stages, a stage no option; a number is
//                    negative or not finite
//   hvd::Error (ResourceExhausted)  no plan fits; says how many bytes the least
//                    hungry one needs
CheckpointPlan plan_checkpoints(const ChainCost& chain,
                                std::int64_t memory_budget,
                                std::size_t resolution = 1000);

// The bytes of the least hungry plan.
std::int64_t least_memory(const ChainCost& chain);

}  // namespace hvd
