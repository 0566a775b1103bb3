// SPDX-License-Identifier: Apache-2.0
// A Session runs one program: it holds the program's tensors and open scopes.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "nlohmann/json.hpp"
#include "statement.h"

namespace hvd::differential {

class Session {
 public:
  // `tensors`: those that exist before a part of a program.
  explicit Session(Tensors tensors = {});
  ~Session();

  // Returns the outcome of each statement: {"tensors": {name: description}},
  // {"error": text}, or {"skipped": true} because an operand is missing. The
  // last entry describes all existing tensors. If the program has a "chance",
  // which seeds the generator, the outcomes are brief and end with the
  // generator's next numbers. If it has a "budget", it runs under a
  // MemoryBudget of that many bytes.
  nlohmann::json run(const nlohmann::json& program);

  // Runs one statement without reporting its outcome.
  //   CheckpointError  a recomputation differs from its forward
  void step(const nlohmann::json& statement);
  // The same; throws the error of a refused statement.
  void step_or_throw(const nlohmann::json& statement);
  void add(const std::string& name, const Tensor& tensor) {
    tensors_[name] = tensor;
  }
  const Tensors& tensors() const { return tensors_; }

 private:
  struct Scope;

  nlohmann::json run_statement(const nlohmann::json& statement);
  nlohmann::json execute(const nlohmann::json& statement);
  std::vector<Tensor> results_of(const nlohmann::json& statement);
  nlohmann::json descriptions() const;
  void enter(const Statement& statement);

  bool is_brief_ = false;  // Only gradients and the end are reported.
  Tensors tensors_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

}  // namespace hvd::differential
