// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/settings/process_set.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hvd {

const std::vector<int>& ProcessSet::ranks() const {
  static const std::vector<int> none;
  return ranks_ == nullptr ? none : *ranks_;
}

std::string ProcessSet::to_string() const {
  if (is_global()) return "the global process set";
  return absl::StrCat("process set ", id_, " [", absl::StrJoin(ranks(), ", "),
                      "]");
}

}  // namespace hvd
