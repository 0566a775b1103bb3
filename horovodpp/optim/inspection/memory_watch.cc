// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/inspection/memory_watch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/tensor/tensor_impl.h"

namespace hvd::optim {
namespace {

using autograd::MemoryLedger;

enum Category : std::size_t {
  kParameters,
  kBuffers,
  kGradients,
  kOptimizerState,
  kSaved,
  kOther,
  kBefore,
};
constexpr std::array<const char*, 7> kNames = {
    "parameters",         "buffers",
    "gradients",          "optimizer state",
    "saved for backward", "other tensors",
    "tensors from before"};

constexpr std::size_t kLargest = 10;

struct Purpose {
  Category category = kOther;
  std::string name;
};
using Purposes = absl::flat_hash_map<std::uint64_t, Purpose>;

void add(Purposes& purposes, MemoryLedger& ledger, Category category,
         const std::vector<nn::NamedTensor>& tensors) {
  for (const nn::NamedTensor& one : tensors) {
    purposes.try_emplace(ledger.id_of(one.tensor.impl()->storage->block()),
                         Purpose{category, one.name});
  }
}

Purposes purposes_of(const nn::Module& model, const Optimizer* optimizer,
                     MemoryLedger& ledger) {
  Purposes purposes;
  add(purposes, ledger, kParameters, model.named_parameters());
  add(purposes, ledger, kBuffers, model.named_buffers());
  if (optimizer != nullptr) {
    add(purposes, ledger, kOptimizerState, optimizer->state());
  }
  return purposes;
}

Purpose purpose_of(const MemoryLedger::Entry& entry, const Purposes& known) {
  if (const auto found = known.find(entry.id); found != known.end()) {
    return found->second;
  }
  if (entry.gradient_of != 0) {
    const auto leaf = known.find(entry.gradient_of);
    return {kGradients, leaf == known.end()
                            ? std::string("gradient of another leaf")
                            : absl::StrCat("gradient of ", leaf->second.name)};
  }
  if (entry.saved > 0) return {kSaved, entry.maker};
  return {kOther, "no name"};
}

std::string bytes_text(std::int64_t bytes) {
  const auto count = static_cast<double>(bytes);
  if (count >= 1e9) return absl::StrFormat("%.2f GB", count / 1e9);
  if (count >= 1e6) return absl::StrFormat("%.2f MB", count / 1e6);
  return absl::StrFormat("%.2f kB", count / 1e3);
}

}  // namespace

std::string MemoryReport::text() const {
  std::string text =
      absl::StrFormat("tensors took at most %s, %.1f ms after the begin",
                      bytes_text(peak_bytes), after_ms);
  if (!phase.empty()) absl::StrAppend(&text, ", in ", phase);
  for (const auto& [category, bytes] : categories) {
    absl::StrAppendFormat(&text, "\n  %-20s%12s", category, bytes_text(bytes));
  }
  absl::StrAppend(&text, "\nthe largest:");
  for (const Holder& holder : largest) {
    absl::StrAppendFormat(&text, "\n  %12s  %s: %s", bytes_text(holder.bytes),
                          holder.category, holder.name);
  }
  return text;
}

MemoryWatch::MemoryWatch(const nn::Module& model, const Optimizer* optimizer,
                         Device device)
    : model_(model),
      optimizer_(optimizer),
      began_(std::chrono::steady_clock::now()),
      ledger_(device) {
  // Lists tensors that are older than the watch.
  purposes_of(model_, optimizer_, ledger_);
}

MemoryReport MemoryWatch::report() {
  const MemoryLedger::Peak peak = ledger_.peak();
  const Purposes known = purposes_of(model_, optimizer_, ledger_);
  MemoryReport report{
      .peak_bytes = peak.bytes,
      .after_ms =
          std::chrono::duration<double, std::milli>(peak.at - began_).count(),
      .phase = peak.phase};
  std::array<std::int64_t, kNames.size()> sums = {};
  for (const MemoryLedger::Entry& entry : peak.entries) {
    Purpose purpose = purpose_of(entry, known);
    sums.at(purpose.category) += entry.bytes;
    report.largest.push_back(
        {kNames.at(purpose.category), std::move(purpose.name), entry.bytes});
  }
  sums[kBefore] = peak.older_bytes;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    report.categories.emplace_back(kNames.at(i), sums.at(i));
  }
  std::stable_sort(report.largest.begin(), report.largest.end(),
                   [](const auto& a, const auto& b) {
                     return a.bytes != b.bytes ? a.bytes > b.bytes
                                               : a.name < b.name;
                   });
  if (report.largest.size() > kLargest) report.largest.resize(kLargest);
  return report;
}

}  // namespace hvd::optim
