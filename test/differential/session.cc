// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include "description.h"
#include "operations.h"

namespace hvd::differential {

// Whatever ends with it.
struct Session::Scope {
  std::unique_ptr<SetGradEnabled> grad_mode;
  std::unique_ptr<InferenceMode> inference_mode;
  std::unique_ptr<Autocast> autocast;
};

Session::Session() = default;

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

nlohmann::json Session::execute(const nlohmann::json& statement) {
  const Statement s(statement, tensors_);
  const std::string operation = statement.at("do");
  nlohmann::json described = nlohmann::json::object();
  if (operation == "enter") {
    enter(s);
  } else if (operation == "leave") {
    if (!scopes_.empty()) scopes_.pop_back();
  } else {
    std::vector<Tensor> results = all_operations().at(operation)(s);
    const std::vector<std::string> names =
        statement.value("as", std::vector<std::string>());
    if (names.empty()) {
      if (operation.back() == '_') {
        described[statement["of"][0].get<std::string>()] = describe(s[0]);
      }
    } else if (results.size() != names.size()) {
      throw std::length_error("there are " + std::to_string(results.size()) +
                              " results");
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      described[names[i]] = describe(results[i]);
      if (results[i].defined()) tensors_[names[i]] = std::move(results[i]);
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
  for (const nlohmann::json& statement : program.at("statements")) {
    outcomes.push_back(run_statement(statement));
  }
  while (!scopes_.empty()) scopes_.pop_back();
  outcomes.push_back({{"tensors", descriptions()}});
  return outcomes;
}

}  // namespace hvd::differential
