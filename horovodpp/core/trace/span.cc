// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/span.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>

#include "horovodpp/core/trace/current.h"
#include "horovodpp/core/trace/event.h"
#include "horovodpp/core/trace/recorder.h"

namespace hvd::trace {
namespace {

// The numbers of threads that have had a span. A thread that ends frees its
// number, so that numbers stay small.
constexpr std::size_t kWordBits = 64;
constinit std::array<std::atomic<std::uint64_t>, 4> taken_numbers{};

std::optional<std::uint8_t> take_number() {
  for (std::size_t i = 0; i < taken_numbers.size(); ++i) {
    std::uint64_t word = taken_numbers[i].load();
    while (word != ~std::uint64_t{0}) {
      const int bit = std::countr_one(word);
      if (taken_numbers[i].compare_exchange_weak(
              word, word | std::uint64_t{1} << bit)) {
        return static_cast<std::uint8_t>(i * kWordBits +
                                         static_cast<std::size_t>(bit));
      }
    }
  }
  return std::nullopt;
}

class ThreadNumber {
 public:
  ThreadNumber() : number_(take_number()) {}
  ~ThreadNumber() {
    if (!number_) return;
    const std::uint64_t bit = std::uint64_t{1} << (*number_ % kWordBits);
    taken_numbers[*number_ / kWordBits].fetch_and(~bit);
  }
  ThreadNumber(const ThreadNumber&) = delete;
  ThreadNumber& operator=(const ThreadNumber&) = delete;

  std::optional<std::uint8_t> get() const { return number_; }

 private:
  const std::optional<std::uint8_t> number_;
};

// nullopt: 256 other threads have one.
std::optional<std::uint8_t> number_of_thread() {
  thread_local const ThreadNumber number;
  return number.get();
}

void write(EventKind kind, std::string_view work) {
  const auto recorder = current();
  if (recorder == nullptr) return;
  const auto thread = number_of_thread();
  if (!thread) return;
  recorder->write(kind, {.detail = *thread, .label = recorder->label(work)});
}

}  // namespace

Span::Span(std::string_view work) {
  auto recorder = current();
  if (recorder == nullptr) return;
  const auto thread = number_of_thread();
  if (!thread) return;
  label_ = recorder->label(work);
  thread_ = *thread;
  recorder->write(EventKind::kSpanBegins, {.detail = thread_, .label = label_});
  recorder_ = std::move(recorder);
}

Span::~Span() {
  // In a forked child there is no current one, and the parent's goes on.
  if (recorder_ == nullptr || !has_current()) return;
  static_cast<Recorder*>(recorder_.get())
      ->write(EventKind::kSpanEnds, {.detail = thread_, .label = label_});
}

void begin_span(std::string_view work) { write(EventKind::kSpanBegins, work); }

void end_span(std::string_view work) { write(EventKind::kSpanEnds, work); }

}  // namespace hvd::trace
