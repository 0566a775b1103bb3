// SPDX-License-Identifier: Apache-2.0
// The image files of test/fixtures/images.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/data/images/image_file.h"

namespace hvd::data {

inline std::string fixture_image(const std::string& name) {
  return std::string(HVD_FIXTURES) + "/images/" + name;
}

inline std::vector<std::string> fixture_image_names() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(fixture_image(""))) {
    names.push_back(file.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<std::uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether this build has the library for the file's format.
inline bool can_read(const std::string& name) {
  try {
    read_image(fixture_image(name));
  } catch (const Error& error) {
    return error.status().code() != StatusCode::kUnimplemented;
  }
  return true;
}

#define HVD_SKIP_WITHOUT(name) \
  if (!can_read(name)) GTEST_SKIP() << "this build cannot read " << (name)

}  // namespace hvd::data
