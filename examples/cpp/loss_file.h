// SPDX-License-Identifier: Apache-2.0
// A LossFile has the loss of every step of a run, one per line, as a
// hexadecimal float, which is exact.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

class LossFile {
 public:
  // Keeps the first `steps` lines of an existing file: a killed run may have
  // come further than its last checkpoint.
  //   std::runtime_error  the file cannot be written
  LossFile(const std::string& path, std::int64_t steps);

  void add(double loss);

  //   std::runtime_error  not everything could be written
  void flush();

 private:
  [[noreturn]] void fail() const;

  const std::string path_;
  std::ofstream file_;
};
