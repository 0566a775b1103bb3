// SPDX-License-Identifier: Apache-2.0
// A Span shows in the timeline how long this thread does some work, as
// horovodpp/core/trace/span.h does:
//
//   hvd::libtorch::Span span("data");
//
// Spans of a thread nest.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

class Span {
 public:
  // `work` outlives the span. A literal does.
  explicit Span(const char* work) : work_(work) { hvd_begin_span(work_); }
  ~Span() { hvd_end_span(work_); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const char* const work_;
};

}  // namespace libtorch
}  // namespace hvd
