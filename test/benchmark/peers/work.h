// SPDX-License-Identifier: Apache-2.0
// A Work is a piece of communication that the programs of this folder measure,
// each in its own way, named alike for all of them:
//
//   allreduce.name:1024x1000     1,000 tensors of 1 KiB, each by its name
//
// Which operations and forms there are is told in docs/benchmarks.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hvd::benchmark {

struct Work {
  std::string text = {};
  std::string operation = {};
  std::string form = {};
  std::size_t bytes = 0;  // Of each tensor, on each rank.
  std::size_t tensors = 1;

  std::size_t all_bytes() const { return bytes * tensors; }
};

// nullopt: it is not of the form above.
std::optional<Work> parse_work(const std::string& text);

}  // namespace hvd::benchmark
