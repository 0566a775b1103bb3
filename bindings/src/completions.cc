// SPDX-License-Identifier: Apache-2.0
#include "src/completions.h"

#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "src/operation.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

// The numbers of operations that are done and that next() has not returned.
// Shared with the operations' callbacks, which may outlive the Completions.
class Done {
 public:
  void add(std::uint64_t number) {
    {
      const std::lock_guard lock(mutex_);
      numbers_.push_back(number);
    }
    added_.notify_one();
  }

  std::vector<std::uint64_t> next(double seconds) {
    std::unique_lock lock(mutex_);
    added_.wait_for(lock, std::chrono::duration<double>(seconds),
                    [&] { return !numbers_.empty(); });
    return std::exchange(numbers_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<std::uint64_t> numbers_;
};

class Completions {
 public:
  void watch(const Operation& operation, std::uint64_t number) {
    operation.then([done = done_, number] { done->add(number); });
  }
  void wake(std::uint64_t number) { done_->add(number); }
  std::vector<std::uint64_t> next(double seconds) {
    const nb::gil_scoped_release without_gil;
    return done_->next(seconds);
  }

 private:
  std::shared_ptr<Done> done_ = std::make_shared<Done>();
};

}  // namespace

void add_completions(nb::module_& module) {
  nb::class_<Completions>(module, "Completions",
                          "Operations in flight whose end one thread awaits.")
      .def(nb::init<>())
      .def("watch", &Completions::watch, arg("operation"), arg("number"),
           "Lets next() return `number` once the operation is done.")
      .def("wake", &Completions::wake, arg("number"),
           "Lets next() return `number`.")
      .def("next", &Completions::next, arg("seconds"),
           "Sleeps until operations are done, for at most `seconds`. Returns "
           "their numbers, in the order in which they ended.");
}

}  // namespace hvd::python
