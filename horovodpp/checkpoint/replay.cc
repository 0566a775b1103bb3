// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/replay.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/anomaly.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/checkpoint/kept_results.h"

namespace hvd::autograd {
namespace {

// The innermost calls shown in an error; a backward's stack is deep.
constexpr std::size_t kCallsShown = 16;

std::string describe(const Dims& shape, DType dtype) {
  return absl::StrCat(name_of(dtype), shape.to_string());
}

// The type's name within the text of text_of_type().
std::string_view type_in(std::string_view text) {
  constexpr std::string_view kBefore = "Function = ";
  const std::size_t begin = text.find(kBefore);
  if (begin == text.npos) return text;
  text.remove_prefix(begin + kBefore.size());
  text.remove_suffix(1);
  return text;
}

}  // namespace

Replay::Replay(const Recording& recording, bool again, OperationObserver* outer)
    : recording_(&recording),
      outer_(outer != nullptr && outer->follows_recomputations() ? outer
                                                                 : nullptr),
      again_(again),
      forward_goes_on_(recording.is_running()),
      captured_(recording.captured()),
      wanted_(recording.wanted()),
      values_(wanted_.size()) {
  follows_results_ = recording.kept() != nullptr || outer_ != nullptr;
}

SavedTensorStore::Kept Replay::keep(const Tensor& tensor) {
  reads(tensor);
  const std::size_t place = saved_++;
  const auto& slots = recording_->slots();
  const bool early_stop = recording_->options().early_stop;
  if (place >= slots.size() && !early_stop && !forward_goes_on_) {
    fail(absl::StrCat(
        "trying to save more tensors during recomputation than during the "
        "original forward pass, which saved ",
        slots.size(), ": ", operation_, " saves one more"));
  }
  if (place < slots.size()) check_same(tensor, place);
  if (place < wanted_.size() && wanted_[place]) {
    // Detached unless a leaf: a history would own the replay's graph.
    values_[place] = {tensor.is_leaf() ? tensor : tensor.detach(),
                      tensor.version()};
  }
  if (early_stop && saved_ >= wanted_.size()) throw ReplayIsComplete();
  return {};
}

void Replay::check_same(const Tensor& tensor, std::size_t place) const {
  const Recording::Slot& slot = recording_->slots()[place];
  const DeterminismCheck check = recording_->options().determinism_check;
  if (check == DeterminismCheck::kNone) return;
  if (tensor.shape() != slot.shape || tensor.dtype() != slot.dtype) {
    fail(absl::StrCat(
        "recomputed values have different metadata than in the forward pass. "
        "The first operation that differs saved tensor ",
        place, ": in forward ", slot.operation, " saved ",
        describe(slot.shape, slot.dtype), ", in the recomputation ", operation_,
        " saved ", tensor.describe()));
  }
  if (check != DeterminismCheck::kChecksum) return;
  if (checksum(tensor) == slot.checksum) return;
  fail(absl::StrCat(
      "recomputed values differ from the forward pass. The first "
      "tensor that differs is number ",
      place, ", ", tensor.describe(), ", saved by ", slot.operation,
      ". Random numbers that were not put back, or memory that was written in "
      "between, may be the cause"));
}

void Replay::fail(const std::string& what) const {
  std::string text =
      absl::StrCat("checkpoint: ", what,
                   ". The function must do the same whenever it runs; it is ",
                   std::string(type_in(recording_->function_type())));
  if (recording_->options().debug) {
    absl::StrAppend(&text, "\nOperations of forward:\n",
                    recording_->log().to_string(),
                    "Operations of the recomputation:\n", log_.to_string());
  } else {
    absl::StrAppend(
        &text, ". CheckpointDebug(true) tells all operations of both runs");
  }
  if (runs_) {
    std::vector<void*> calls = calls_here();
    if (calls.size() > kCallsShown) calls.resize(kCallsShown);
    absl::StrAppend(&text, "\nThe recomputation was here:\n",
                    describe_calls(calls));
  }
  throw CheckpointError(text);
}

void Replay::check_complete() {
  runs_ = false;
  const std::size_t expected = recording_->slots().size();
  const bool may_differ =
      forward_goes_on_ || recording_->options().early_stop ||
      recording_->options().determinism_check == DeterminismCheck::kNone;
  if (saved_ == expected || (may_differ && saved_ >= wanted_.size())) return;
  fail(absl::StrCat(
      "A different number of tensors was saved during the original forward "
      "pass and the recomputation: ",
      expected, " and ", saved_,
      saved_ < expected
          ? absl::StrCat("; the first that is missing was saved by ",
                         recording_->slots()[saved_].operation)
          : std::string()));
}

Tensor Replay::take(std::uint32_t place, const Node& node) {
  Value value =
      place < values_.size() ? std::exchange(values_[place], Value()) : Value();
  if (!value.tensor.defined()) {
    throw CheckpointError(absl::StrCat(
        "checkpoint: a tensor that ", node.name(),
        " saved was already unpacked once in this backward, and freed; keep "
        "the result of saved_tensors() instead of calling it twice"));
  }
  if (value.tensor.version() != value.version) {
    throw VersionError(absl::StrCat(
        "checkpoint: a ", value.tensor.describe(), " that ", node.name(),
        " needs was modified in place by the checkpointed function after it "
        "was saved: it is at version ",
        value.tensor.version(), "; expected version ", value.version,
        " instead. Modify a clone()"));
  }
  return std::move(value.tensor);
}

void Replay::reads(const Tensor& tensor) {
  if (const auto change = captured_.reads(tensor)) {
    fail(change->text(recording_->name_of(tensor)));
  }
}

void Replay::check_operation(const char* operation) const {
  const auto& operations = recording_->kept()->operations();
  const bool more = next_operation_ >= operations.size();
  if (more ? forward_goes_on_
           : std::string_view(operations[next_operation_]) == operation) {
    return;
  }
  fail(
      absl::StrCat("the operations of the recomputation differ from the "
                   "forward pass. The first that differs is number ",
                   next_operation_, ": in forward ",
                   more ? "there was none" : operations[next_operation_],
                   ", in the recomputation ", operation));
}

bool Replay::recalls(const char* operation, OperationResults& results) {
  if (recording_->kept() != nullptr) {
    check_operation(operation);
    if (const auto recalled =
            recording_->kept()->recall(next_operation_++, again_)) {
      results = std::move(recalled->results);
      if (recording_->options().preserve_rng_state) {
        default_generator().set_state(recalled->random);
      }
      made(operation, results);
      return true;
    }
  }
  return outer_ != nullptr && outer_->recalls(operation, results);
}

void Replay::made(const char* operation, const OperationResults& results) {
  if (outer_ != nullptr) outer_->made(operation, results);
}

void Replay::named(const Tensor& tensor, std::string_view name) {
  if (outer_ != nullptr) outer_->named(tensor, name);
}

void Replay::records(const Node& node) {
  operation_ = node.name();
  if (recording_->options().debug) log_.add(operation_);
}

}  // namespace hvd::autograd
