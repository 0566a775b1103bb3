// SPDX-License-Identifier: Apache-2.0
// Checkpointing selects the tensors that backward recomputes, which forward
// does not keep: the training programs' option --checkpoint.
//
//   auto how = models::Checkpointing::parse("budget=512MiB");
//   model->set_checkpointing(how);
#pragma once

#include <horovodpp/checkpoint.h>

#include <string>

namespace models {

struct Checkpointing {
  enum class Form {
    kNone,    // Keeps all tensors.
    kBlock,   // Each block of the model.
    kSqrt,    // All but the last of √n segments of the n stages.
    kBudget,  // The fastest plan within a budget.
    kOnline,  // As much as a budget demands, decided during the step.
    kPlan,    // A given plan.
  };
  Form form = Form::kNone;
  // For kBudget and kOnline. A fraction is relative to the memory without
  // checkpointing.
  hvd::ChainBudget budget = {};
  // For kPlan.
  hvd::CheckpointPlan plan = hvd::CheckpointPlan::keep_all(0);

  // "none", "block", "sqrt", "budget=BYTES", "online=BYTES" or "plan=PLAN".
  // PLAN is the output of a run with a budget (CheckpointPlan). BYTES is a
  // number of bytes ("1048576"), a number with a unit ("512MiB", "1.5GB", "2G")
  // or a percentage of the memory without checkpointing ("50%"). Units kB, MB,
  // GB and TB are powers of 1000. Units KiB, MiB, GiB, TiB, and K, M, G, T
  // alone, are powers of 1024.
  //   InvalidArgument  the text is none of these; lists the valid forms
  static Checkpointing parse(const std::string& text);
};

}  // namespace models
