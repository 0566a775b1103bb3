// SPDX-License-Identifier: Apache-2.0
// A Session runs one program: its tensors, and the scopes it has entered.
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
  // Of a part of a program, with what there is by then.
  explicit Session(Tensors tensors = {});
  ~Session();

  // What came of each statement: {"tensors": {name: description}}, {"error":
  // text}, or {"skipped": true} because an operand is missing. And in the end
  // that of all tensors that are there. A program with a "chance", which seeds the
  // generator, is told of briefly, and what is drawn after its end is told, too; one
  // with a "budget" runs under a MemoryBudget of so many bytes.
  nlohmann::json run(const nlohmann::json& program);

  // As of one statement, without telling of it.
  //   CheckpointError  it is run again, and does not do the same
  void step(const nlohmann::json& statement);
  // The same; throws what the statement is refused with.
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

  bool is_brief_ = false;  // Only gradients and the end are told of.
  Tensors tensors_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

}  // namespace hvd::differential
