// SPDX-License-Identifier: Apache-2.0
// A ChainModel is a model whose forward runs one stage after the other, so that
// it can be trained with any kind of checkpointing:
//
//   std::shared_ptr<models::ChainModel> gpt = models::make_text_model("gpt");
//   gpt->set_checkpointing(models::Checkpointing::parse("budget=50%"));
//   hvd::cross_entropy((*gpt)(tokens), targets).backward();
//
// Outputs, gradients, random numbers and running moments have the same bits
// with each kind. The model must live until backward.
#pragma once

#include <horovodpp/checkpoint.h>
#include <horovodpp/nn.h>

#include <memory>
#include <string>
#include <vector>

#include "models/checkpointing.h"

namespace models {

// function(x), as a checkpointed region if `recompute`.
template <typename Function>
hvd::Tensor recompute_if(bool recompute, const Function& function,
                         const hvd::Tensor& x) {
  return recompute ? hvd::checkpoint(function, x) : function(x);
}

class ChainModel : public hvd::nn::Module {
 public:
  hvd::Tensor forward(const hvd::Tensor& input) final;

  // Sets the checkpointing of later forwards; at first there is none. Forward
  // then throws:
  //   InvalidArgument                  the plan is not for this model
  //   hvd::Error (ResourceExhausted)   a plan's budget is too small; names the
  //                                    least budget
  void set_checkpointing(const Checkpointing& how);
  const Checkpointing& checkpointing() const { return how_; }

  // forward() is their composition.
  const std::vector<hvd::ChainStage>& stages() const { return stages_; }
  // The tensors that a forward of inputs like `input` keeps and recomputes.
  // With kBudget, the first call measures the stages.
  hvd::CheckpointPlan plan_for(const hvd::Tensor& input);
  // The regions of the last forward with kOnline.
  const hvd::MemoryBudgetStats& online_stats() const { return online_; }

 protected:
  // Call these in the constructor, in the order of forward(): for a stage
  // outside blocks, and for the stages of a block. kOnline uses the last option
  // of each stage, whose regions can be freed one by one.
  void add_stage(hvd::ChainStage stage);
  void add_block(std::vector<hvd::ChainStage> stages);

  // Forward with the blocks as regions; if `leanly`, with nested regions of the
  // parts that are cheapest to recompute.
  virtual hvd::Tensor run_blocks(const hvd::Tensor& input, bool leanly);

 private:
  std::int64_t online_bytes(const hvd::Tensor& input);
  hvd::CheckpointPlan lean_plan() const;

  Checkpointing how_;
  std::vector<hvd::ChainStage> stages_;
  // The text of a plan: a region for each block.
  std::string blocks_;
  // The parts of each block, and the stages between blocks, with their last
  // options.
  std::vector<std::string> lean_parts_;
  std::unique_ptr<hvd::PlannedChain> planned_;  // Null without a budget.
  hvd::MemoryBudgetStats online_;
};

}  // namespace models
