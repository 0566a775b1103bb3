// SPDX-License-Identifier: Apache-2.0
// A Span shows how long a thread does some work of a step, in the timeline of
// its rank:
//
//   {
//     hvd::trace::Span span("data");
//     batch = next_batch();
//   }
//
// The library has spans of its own: "backward", "recompute", "optimizer",
// "data" and "snapshot". A span takes 50 ns, or two loads where the thread is
// in no job. Use few different texts: each is stored once, for good, and there
// is room for 1 MiB.
//
// Spans of a thread nest. A Span ends on the thread that began it.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string_view>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace trace {

class Span {
 public:
  explicit Span(std::string_view work);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  std::shared_ptr<void> recorder_;  // Of the rank; nullptr: none.
  std::uint16_t label_ = 0;
  std::uint8_t thread_ = 0;
};

// The same for languages without destructors. end_span() also ends spans that
// this thread began later.
void begin_span(std::string_view work);
void end_span(std::string_view work);

}  // namespace trace
}  // namespace hvd
