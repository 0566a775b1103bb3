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
  Session();
  ~Session();

  // What came of each statement: {"tensors": {name: description}}, {"error":
  // text}, or {"skipped": true} because an operand is missing. And in the end
  // that of all tensors that are there.
  nlohmann::json run(const nlohmann::json& program);

 private:
  struct Scope;

  nlohmann::json run_statement(const nlohmann::json& statement);
  nlohmann::json execute(const nlohmann::json& statement);
  nlohmann::json descriptions() const;
  void enter(const Statement& statement);

  Tensors tensors_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

}  // namespace hvd::differential
