// SPDX-License-Identifier: Apache-2.0
// A Work is a communication task that each program of this folder measures in
// its own way. All programs use the same names:
//
//   allreduce.name:1024x1000     1,000 tensors of 1 KiB, each by its name
//
// docs/benchmarks.md lists the operations and forms.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hvd::benchmark {

struct Work {
  std::string text = {};
  std::string operation = {};
  std::string form = {};
  std::size_t bytes = 0;  // Per tensor and rank.
  std::size_t tensors = 1;

  std::size_t all_bytes() const { return bytes * tensors; }
};

// nullopt if `text` does not have the form above.
std::optional<Work> parse_work(const std::string& text);

}  // namespace hvd::benchmark
