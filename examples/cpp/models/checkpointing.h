// SPDX-License-Identifier: Apache-2.0
// What a training step computes again in backward instead of keeping it, as the
// training programs are told with --checkpoint:
//
//   auto how = models::Checkpointing::parse("budget=512MiB");
//   model->set_checkpointing(how);
#pragma once

#include <horovodpp/checkpoint.h>

#include <string>

namespace models {

struct Checkpointing {
  enum class Form {
    kNone,    // Nothing.
    kBlock,   // Each block of the model.
    kSqrt,    // All but the last of √n segments of the n stages.
    kBudget,  // By the fastest plan within a budget.
    kOnline,  // As much as a budget demands, decided during the step.
    kPlan,    // By a plan that is given.
  };
  Form form = Form::kNone;
  // Of kBudget and kOnline. A fraction is of what keeping everything takes.
  hvd::ChainBudget budget = {};
  // Of kPlan.
  hvd::CheckpointPlan plan = hvd::CheckpointPlan::keep_all(0);

  // "none", "block", "sqrt", "budget=BYTES", "online=BYTES" or "plan=PLAN", where
  // PLAN is what a run with a budget has shown (CheckpointPlan), and BYTES a
  // number of bytes ("1048576"), one with a unit ("512MiB", "1.5GB", "2G") or a
  // percentage of what keeping everything takes ("50%"). kB, MB, GB and TB are
  // powers of 1000; KiB, MiB, GiB, TiB, and K, M, G, T alone, of 1024.
  //   InvalidArgument  the text is none of these; says what would be right
  static Checkpointing parse(const std::string& text);
};

}  // namespace models
