// SPDX-License-Identifier: Apache-2.0
// The launcher orders newcomers of an elastic job from the starter, by lines on
// a pipe whose number is in an environment variable: RANK HOST, where HOST is a
// position in the hosts of the start.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

inline constexpr char kNewcomersVariable[] = "HOROVODRUN_NEWCOMERS";

struct NewcomerOrder {
  int rank = 0;
  std::size_t host = 0;

  friend bool operator==(const NewcomerOrder&, const NewcomerOrder&) = default;
};

std::string to_line(const NewcomerOrder& order);
// Removes a whole line from the front of `text`; nullopt: there is none, or it
// is no order.
std::optional<NewcomerOrder> take_newcomer(std::string& text);

}  // namespace hvd::launcher
