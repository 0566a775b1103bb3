// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "description.h"
#include "horovodpp/checkpoint.h"
#include "operations.h"
#include "regions.h"

namespace hvd::differential {

// The guards that end with the scope.
struct Session::Scope {
  std::unique_ptr<SetGradEnabled> grad_mode;
  std::unique_ptr<InferenceMode> inference_mode;
  std::unique_ptr<Autocast> autocast;
};

Session::Session(Tensors tensors) : tensors_(std::move(tensors)) {}

Session::~Session() {
  while (!scopes_.empty()) scopes_.pop_back();
}

void Session::enter(const Statement& s) {
  auto scope = std::make_unique<Scope>();
  const std::string kind = s.text("scope");
  if (kind == "no_grad" || kind == "enable_grad") {
    scope->grad_mode = std::make_unique<SetGradEnabled>(kind == "enable_grad");
  } else if (kind == "inference_mode") {
    scope->inference_mode = std::make_unique<InferenceMode>(s.flag("enabled"));
  } else {
    scope->autocast = std::make_unique<Autocast>(
        s.dtype("dtype"), AutocastOptions{.enabled = s.flag("enabled")});
  }
  scopes_.push_back(std::move(scope));
}

std::vector<Tensor> Session::results_of(const nlohmann::json& statement) {
  const std::string operation = statement.at("do");
  std::vector<Tensor> results;
  if (operation == "region") {
    results = run_region(statement, tensors_);
  } else if (operation == "chain") {
    results = run_chain(statement, tensors_);
  } else {
    results = operation_named(operation)(Statement(statement, tensors_));
  }
  const std::size_t names = statement.value("as", nlohmann::json()).size();
  if (names > 0 && results.size() != names) {
    throw std::length_error("there are " + std::to_string(results.size()) +
                            " results");
  }
  results.resize(names);
  for (std::size_t i = 0; i < names; ++i) {
    if (results[i].defined()) tensors_[statement["as"][i]] = results[i];
  }
  return results;
}

void Session::step_or_throw(const nlohmann::json& statement) {
  const std::string operation = statement.at("do");
  if (operation == "enter") {
    enter(Statement(statement, tensors_));
  } else if (operation == "leave") {
    if (!scopes_.empty()) scopes_.pop_back();
  } else {
    results_of(statement);
  }
}

void Session::step(const nlohmann::json& statement) {
  try {
    step_or_throw(statement);
  } catch (const MissingOperand&) {
  } catch (const autograd::CheckpointError&) {
    throw;
  } catch (const std::exception&) {
  }
}

nlohmann::json Session::execute(const nlohmann::json& statement) {
  const std::string operation = statement.at("do");
  nlohmann::json described = nlohmann::json::object();
  const bool is_left_out =
      is_brief_ && operation != "grad" && operation != "backward";
  if (operation == "enter" || operation == "leave") {
    step(statement);
  } else if (is_left_out) {
    results_of(statement);
  } else {
    const std::vector<Tensor> results = results_of(statement);
    for (std::size_t i = 0; i < results.size(); ++i) {
      described[statement["as"][i].get<std::string>()] = describe(results[i]);
    }
    if (results.empty() && operation.back() == '_') {
      const std::string target = statement["of"][0];
      described[target] = describe(tensors_.at(target));
    }
  }
  if (operation == "backward") described = descriptions();
  return {{"tensors", described}};
}

nlohmann::json Session::run_statement(const nlohmann::json& statement) {
  try {
    return execute(statement);
  } catch (const MissingOperand&) {
    return {{"skipped", true}};
  } catch (const std::exception& e) {
    return {{"error", e.what()}};
  }
}

nlohmann::json Session::descriptions() const {
  nlohmann::json result = nlohmann::json::object();
  for (const auto& [name, tensor] : tensors_) result[name] = describe(tensor);
  return result;
}

nlohmann::json Session::run(const nlohmann::json& program) {
  nlohmann::json outcomes = nlohmann::json::array();
  // Without a budget, memory is unlimited.
  std::optional<MemoryBudget> budget;
  if (program.contains("budget")) budget.emplace(program["budget"]);
  is_brief_ = program.contains("chance");
  if (is_brief_) manual_seed(program["chance"]);
  for (const nlohmann::json& statement : program.at("statements")) {
    outcomes.push_back(run_statement(statement));
  }
  while (!scopes_.empty()) scopes_.pop_back();
  outcomes.push_back({{"tensors", descriptions()}});
  if (is_brief_) {
    outcomes.push_back({{"tensors", {{"chance", describe(rand({4}))}}}});
  }
  return outcomes;
}

}  // namespace hvd::differential
