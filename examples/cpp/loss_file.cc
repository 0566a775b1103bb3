// SPDX-License-Identifier: Apache-2.0
#include "loss_file.h"

#include <filesystem>
#include <stdexcept>

namespace {

// The length of the first `lines` lines of a file, without an incomplete line.
std::uintmax_t bytes_of_lines(const std::string& path, std::int64_t lines) {
  std::ifstream file(path);
  std::uintmax_t bytes = 0;
  std::string line;
  for (; lines > 0 && std::getline(file, line) && !file.eof(); --lines) {
    bytes += line.size() + 1;
  }
  return bytes;
}

}  // namespace

LossFile::LossFile(const std::string& path, std::int64_t steps) : path_(path) {
  if (std::filesystem::is_regular_file(path)) {
    std::filesystem::resize_file(path, bytes_of_lines(path, steps));
  }
  file_.open(path, std::ios::app);
  if (!file_) fail();
}

void LossFile::add(double loss) { file_ << std::hexfloat << loss << "\n"; }

void LossFile::flush() {
  if (!file_.flush()) fail();
}

void LossFile::fail() const {
  throw std::runtime_error("cannot write '" + path_ + "'");
}
