// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/anomaly.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/node_hooks.h"
#include "horovodpp/autograd/warning.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

constexpr int kMaxFrames = 48;
constexpr int kOwnFrames = 2;  // Frames of the recording itself.

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::string describe_frame(void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return absl::StrCat("  at 0x", absl::Hex(address));
  }
  const auto offset = static_cast<const char*>(address) -
                      static_cast<const char*>(info.dli_fbase);
  return absl::StrCat(
      "  at ", info.dli_sname != nullptr ? demangled(info.dli_sname) : "?",
      " (", info.dli_fname, "+0x", absl::Hex(offset), ")");
}

bool has_nan(const Tensor& tensor) {
  if (!is_floating_point(tensor.dtype())) return false;
  bool found = false;
  visit_any_floating(tensor.dtype(), "anomaly", [&]<typename T>(TypeTag<T>) {
    const T* elements = tensor.data<T>();
    const Walk<1> walk(tensor.shape(), {tensor.strides()});
    const std::int64_t step = walk.row_steps()[0];
    walk.for_each_row([&](const auto& at) {
      for (std::int64_t i = 0; i < walk.row_size(); ++i) {
        found |= std::isnan(loaded(elements[at[0] + i * step]));
      }
    });
  });
  return found;
}

}  // namespace

DetectAnomaly::DetectAnomaly(bool check_nan)
    : outer_(graph_state.detect_anomaly),
      outer_check_nan_(graph_state.check_nan) {
  graph_state.detect_anomaly = true;
  graph_state.check_nan = check_nan;
}

DetectAnomaly::~DetectAnomaly() {
  graph_state.detect_anomaly = outer_;
  graph_state.check_nan = outer_check_nan_;
}

std::vector<void*> calls_here() {
  std::array<void*, kMaxFrames> frames;
  const int count = backtrace(frames.data(), kMaxFrames);
  const auto own = std::min(count, kOwnFrames);
  return std::vector<void*>(frames.begin() + own, frames.begin() + count);
}

std::string describe_calls(const std::vector<void*>& calls) {
  std::string text;
  for (void* call : calls) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", describe_frame(call));
  }
  return text;
}

void Node::remember_calls() {
  auto trace = std::make_unique<ForwardTrace>();
  trace->calls = calls_here();
  if (const Node* running = graph_state.running_node) {
    trace->during = absl::StrCat("\nduring the backward of ", running->name(),
                                 ":\n", forward_trace(*running));
  }
  make_hooks().trace = std::move(trace);
}

std::string forward_trace(const Node& node) {
  const NodeHooks* hooks = node.hooks();
  if (hooks == nullptr || hooks->trace == nullptr) {
    return "  (not known: it was recorded outside of DetectAnomaly)";
  }
  return describe_calls(hooks->trace->calls) + hooks->trace->during;
}

void apply_watched(Node& node, std::span<Tensor> gradients,
                   std::span<Tensor> results) {
  const Node* const outer = std::exchange(graph_state.running_node, &node);
  try {
    node.apply(gradients, results);
  } catch (...) {
    graph_state.running_node = outer;
    warn(absl::StrCat("Error detected in ", node.name(),
                      ". It was recorded here:\n", forward_trace(node)));
    throw;
  }
  graph_state.running_node = outer;
  if (!graph_state.check_nan) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !has_nan(results[i])) continue;
    throw AutogradError(absl::StrCat(
        "Function '", node.name(), "' returned nan values in its ", i,
        "th output. It was recorded here:\n", forward_trace(node)));
  }
}

}  // namespace hvd::autograd
