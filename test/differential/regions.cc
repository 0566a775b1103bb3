// SPDX-License-Identifier: Apache-2.0
#include "regions.h"

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "horovodpp/checkpoint.h"
#include "session.h"

namespace hvd::differential {
namespace {

using Names = std::vector<std::string>;

// The elements of `names` that exist.
Names present(const nlohmann::json& names, const Tensors& tensors) {
  Names result;
  for (const std::string name : names) {
    if (tensors.contains(name)) result.push_back(name);
  }
  return result;
}

std::vector<Tensor> tensors_of(const Names& names, const Tensors& tensors) {
  std::vector<Tensor> result;
  for (const std::string& name : names) result.push_back(tensors.at(name));
  return result;
}

// The statements of a region as a function of its arguments.
class Body {
 public:
  Body(const nlohmann::json& json, Names arguments, Tensors captured)
      : json_(&json),
        arguments_(std::move(arguments)),
        captured_(std::move(captured)) {}

  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments) const {
    Session session(captured_);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      session.add(arguments_[i], arguments[i]);
    }
    for (const nlohmann::json& statement : json_->at("statements")) {
      session.step(statement);
    }
    std::vector<Tensor> results;
    for (const std::string name : json_->at("as")) {
      const auto found = session.tensors().find(name);
      results.push_back(found == session.tensors().end() ? Tensor()
                                                         : found->second);
    }
    return results;
  }

 private:
  const nlohmann::json* json_;
  Names arguments_;
  Tensors captured_;
};

Tensors captured_by(const nlohmann::json& json, const Tensors& tensors) {
  Tensors result;
  for (const std::string& name : present(json.at("captured"), tensors)) {
    result[name] = tensors.at(name);
  }
  return result;
}

// A pool in which everything fits, or hardly anything.
OffloadPool& pool_of(const nlohmann::json& json) {
  static OffloadPool large({.bytes = std::int64_t{1} << 30});
  static OffloadPool small({.bytes = 256});
  return json.at("fits") ? large : small;
}

CheckpointPolicy policy_called(const std::string& name) {
  static const std::map<std::string, CheckpointPolicy> all = {
      {"must_save", CheckpointPolicy::kMustSave},
      {"prefer_save", CheckpointPolicy::kPreferSave},
      {"must_recompute", CheckpointPolicy::kMustRecompute},
      {"prefer_recompute", CheckpointPolicy::kPreferRecompute},
      {"must_offload", CheckpointPolicy::kMustOffload},
      {"prefer_offload", CheckpointPolicy::kPreferOffload}};
  return all.at(name);
}

CheckpointOptions options_of(const nlohmann::json& json) {
  CheckpointOptions options{
      .early_stop = json.at("early_stop"),
      .determinism_check = json.at("checksum") ? DeterminismCheck::kChecksum
                                               : DeterminismCheck::kMetadata};
  if (json.contains("policies")) {
    std::vector<CheckpointPolicy> policies;
    for (const std::string name : json.at("policies")) {
      policies.push_back(policy_called(name));
    }
    options.policy = [policies](const CheckpointedOperation& operation) {
      return policies[operation.position % policies.size()];
    };
    options.keep_copies = json.at("keep_copies");
    options.offload_pool = &pool_of(json);
  }
  return options;
}

// Moves saved tensors to a pool: the tensors of an uncheckpointed function, or
// a region's arguments, or also the tensors that the region computes.
std::vector<Tensor> run_offloaded(const nlohmann::json& json, const Body& body,
                                  const std::vector<Tensor>& arguments) {
  OffloadPool& pool = pool_of(json);
  const OffloadOptions options{.least_bytes = json.at("least_bytes"),
                               .must_fit = json.at("fits")};
  const Offload offload(pool, options);
  const std::string within = json.at("within");
  if (within == "nothing") return body(arguments);
  if (within == "region") return checkpoint(body, arguments, options_of(json));
  return checkpoint(
      [&pool, options, body](const std::vector<Tensor>& inputs) {
        const Offload inner(pool, options);
        return body(inputs);
      },
      arguments, options_of(json));
}

// The reentrant form has no undefined results. Its function first runs
// unrecorded, and may then do things that are refused when it is recorded.
std::vector<Tensor> run_reentrant(const Body& body,
                                  const std::vector<Tensor>& arguments) {
  const auto made = std::make_shared<std::vector<bool>>();
  const auto results = autograd::checkpoint_reentrant(
      [made, body](const std::vector<Tensor>& inputs) {
        std::vector<Tensor> defined;
        std::vector<bool> is_defined;
        for (Tensor& tensor : body(inputs)) {
          is_defined.push_back(tensor.defined());
          if (tensor.defined()) defined.push_back(std::move(tensor));
        }
        if (!autograd::is_recomputing()) *made = is_defined;
        if (*made != is_defined) {
          throw std::runtime_error("recorded, it does something else");
        }
        return defined;
      },
      arguments);
  std::vector<Tensor> all;
  auto next = results.begin();
  for (const bool is_there : *made)
    all.push_back(is_there ? *next++ : Tensor());
  return all;
}

std::vector<ChainFunction> functions_of(const nlohmann::json& json,
                                        const Tensors& captured) {
  std::vector<ChainFunction> functions;
  for (const nlohmann::json& link : json.at("links")) {
    functions.push_back([&link, captured](const Tensor& x) {
      Session session(captured);
      session.add(link.at("of")[0], x);
      for (const nlohmann::json& statement : link.at("statements")) {
        session.step_or_throw(statement);
      }
      return session.tensors().at(link.at("as")[0]);
    });
  }
  return functions;
}

}  // namespace

std::vector<Tensor> run_region(const nlohmann::json& json,
                               const Tensors& tensors) {
  const Names names = present(json.at("of"), tensors);
  const Body body(json, names, captured_by(json, tensors));
  const std::vector<Tensor> arguments = tensors_of(names, tensors);
  if (json.at("form") == "reentrant") return run_reentrant(body, arguments);
  if (json.at("form") == "offload") return run_offloaded(json, body, arguments);
  return checkpoint(body, arguments, options_of(json));
}

std::vector<Tensor> run_chain(const nlohmann::json& json,
                              const Tensors& tensors) {
  const auto functions = functions_of(json, captured_by(json, tensors));
  const std::string first = json.at("of")[0];
  if (!tensors.contains(first)) throw MissingOperand();
  const Tensor& x = tensors.at(first);
  if (json.at("form") == "sequential") {
    return {checkpoint_sequential(functions,
                                  json.at("segments").get<std::int64_t>(), x,
                                  options_of(json))};
  }
  // Without recording no plan is needed.
  if (!is_grad_enabled()) {
    Tensor made = x;
    for (const ChainFunction& function : functions) made = function(made);
    return {made};
  }
  PlannedChain chain(functions, {.repetitions = 1});
  const ChainBudget all{.fraction = 1.0};
  try {
    const ChainBudget some{.fraction = json.at("fraction").get<double>()};
    chain.plan_for(x, some);
    return {checkpoint_sequential(chain, some, x, options_of(json))};
  } catch (const Error& error) {
    if (error.status().code() != StatusCode::kResourceExhausted) throw;
    return {checkpoint_sequential(chain, all, x, options_of(json))};
  }
}

}  // namespace hvd::differential
