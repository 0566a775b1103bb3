// SPDX-License-Identifier: Apache-2.0
// A DryStep is what one rank saw in a step that changes nothing. Ranks compare
// theirs, to find mistakes before a training runs for hours.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace replica {

struct DryStep {
  struct Parameter {
    std::string name;
    std::string layout;  // Dtype and shape.
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // Of the values.
    // Of the gradient, if there is one.
    std::optional<std::uint64_t> gradient = std::nullopt;
    bool is_finite = true;      // The gradient.
    bool is_reproduced = true;  // A second step had the same gradient.
    // The place in the order in which gradients were complete; -1: none.
    std::int64_t place = -1;
  };

  std::vector<Parameter> parameters = {};
  std::vector<Parameter> buffers = {};  // Without gradients.
  double loss = 0;
  bool is_loss_reproduced = true;
  double seconds = 0;            // Of forward and backward.
  std::int64_t peak_bytes = -1;  // Of tensors; negative: unknown.
};

// Equal on all ranks.
struct DryStepReport {
  // Each has to be mended: ranks would diverge, wait for each other, or compute
  // with invalid numbers.
  std::vector<std::string> problems;
  // Each may be intended.
  std::vector<std::string> notes;
  // Data that a step communicates, and time and memory of each rank.
  std::string summary;

  bool ok() const { return problems.empty(); }
  // All of it, a line for each.
  std::string text() const;
};

// Every rank calls it. `name`: of its collectives.
//   hvd::Error  the job is broken
DryStepReport compare_dry_steps(Runtime& job, const DryStep& mine,
                                const std::string& name = "verify");

}  // namespace replica
}  // namespace hvd
