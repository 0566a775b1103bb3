// SPDX-License-Identifier: Apache-2.0
// The loss of every step of a run, a line each, as a hexadecimal float: exact.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

class LossFile {
 public:
  // Keeps the first `steps` lines of what is there: a run that was killed may
  // have come further than the checkpoint it goes on from.
  //   std::runtime_error  it cannot be written
  LossFile(const std::string& path, std::int64_t steps);

  void add(double loss);

  //   std::runtime_error  not all could be written
  void flush();

 private:
  [[noreturn]] void fail() const;

  const std::string path_;
  std::ofstream file_;
};
