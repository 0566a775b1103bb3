// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/timeline_parts.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hvd::launcher {
namespace {

constexpr char kPartSuffix[] = ".rank";

}  // namespace

std::string part_name(const std::string& path, int rank) {
  return absl::StrCat(path, kPartSuffix, rank);
}

std::map<int, std::string> parts_beside(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string prefix = file.filename().string() + kPartSuffix;
  std::map<int, std::string> found;
  std::error_code error;
  const auto folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    absl::string_view number = name;
    int rank = 0;
    if (absl::ConsumePrefix(&number, prefix) &&
        std::all_of(number.begin(), number.end(), absl::ascii_isdigit) &&
        absl::SimpleAtoi(number, &rank)) {
      found[rank] = (folder / name).string();
    }
  }
  return found;
}

}  // namespace hvd::launcher
