// SPDX-License-Identifier: Apache-2.0
// Warnings about probable mistakes; the program continues. Each kind is
// reported once, on stderr or to a scope's function:
//
//   hvd::autograd::Warnings warnings([](const std::string& text) { … });
//
// A scope applies to its thread, and to operations that its backward runs on
// other threads. Each scope reports each kind once.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class Warnings {
 public:
  using Handler = std::function<void(const std::string& text)>;

  explicit Warnings(Handler handler);
  ~Warnings();
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

 private:
  friend void warn_once(const std::string&, const std::string&);
  friend void warn(const std::string&);
  Handler handler_;
  std::set<std::string> said_;
  Warnings* outer_;
};

// Reports `text`, unless this kind was reported before.
void warn_once(const std::string& kind, const std::string& text);

// Reports `text` every time.
void warn(const std::string& text);

}  // namespace autograd
}  // namespace hvd
