// SPDX-License-Identifier: Apache-2.0
// Handles are numbers of operations in flight, for poll() and synchronize() of
// Python.
//
// A name is taken until the program knows that its operation is done: until
// synchronize() has returned, or poll() has returned true. So a second use is
// refused or not by the program's order, which ranks share, and never by the
// time that the operation took.
//
// Call every function with the GIL, which guards the tables. synchronize() and
// order() let other threads run while they wait.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "horovodpp/runtime/settings/process_set.h"
#include "src/operation.h"

namespace hvd::python {

class Handles {
 public:
  using Number = std::uint64_t;

  // Whether the ranks of later calls are threads, each with names of its own.
  void tell_ranks_apart(bool are_threads) { ranks_are_threads_ = are_threads; }

  // The key of a name, for add(). `what` is the collective: those of different
  // kinds may share a name. Raises ValueError if the name is taken on this
  // rank.
  std::string claim(std::string_view what, std::string_view name,
                    const ProcessSet& set) const;

  // The handle of `operation`. finish(result, keep) makes the caller's result.
  // `keep`, usually the tensor, lives until the handle is synchronized. An
  // empty key stands for no name.
  Number add(std::shared_ptr<Operation> operation, nanobind::object finish,
             nanobind::object keep, std::string key);

  // Raises ValueError for an unknown handle.
  bool poll(nanobind::handle handle);
  // None for an unknown handle.
  nanobind::object synchronize(nanobind::handle handle);
  // Orders a CUDA stream behind the operation. Raises ValueError for an unknown
  // handle.
  void order(nanobind::handle handle, std::uintptr_t stream);

  // Frees the name of an operation that stays in flight.
  void free_name(nanobind::handle handle);
  // Drops the operations of a job that has ended.
  void forget_all();
  // Leaks operations in flight, and their memory.
  void keep_those_in_flight();

 private:
  struct Entry {
    std::shared_ptr<Operation> operation;
    nanobind::object finish;
    nanobind::object keep;
    std::string key;
  };
  using Entries = std::unordered_map<Number, Entry>;

  Entries::iterator find(nanobind::handle handle);
  Entry& known(nanobind::handle handle);
  void free_name(Number number, const std::string& key);
  void remove(Number number);
  // Runs `work`; an error, other than of an interrupt, removes the handle.
  template <typename F>
  void removing_if_failed(Number number, F work);

  bool ranks_are_threads_ = false;
  Number next_ = 0;
  Entries under_way_;
  std::unordered_map<std::string, Number> taken_;
};

void add_handles(nanobind::module_& module);

}  // namespace hvd::python
