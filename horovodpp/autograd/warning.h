// SPDX-License-Identifier: Apache-2.0
// Warnings: something is probably not meant as it is written; the program goes
// on. Each kind is said once; on stderr, or to the function that a scope names:
//
//   hvd::autograd::Warnings warnings([](const std::string& text) { … });
//
// A scope counts for its thread, for operations that backward runs on others on
// its behalf, and hears each kind once.
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

// Says `text`, unless this kind was said before.
void warn_once(const std::string& kind, const std::string& text);

// Says `text`, every time.
void warn(const std::string& text);

}  // namespace autograd
}  // namespace hvd
