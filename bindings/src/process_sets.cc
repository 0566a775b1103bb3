// SPDX-License-Identifier: Apache-2.0
#include "src/process_sets.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "src/errors.h"
#include "src/operation.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

std::vector<ProcessSet> all_sets() {
  return value_or_throw(find_runtime())->process_sets();
}

std::vector<int> ranks_of(const ProcessSet& set) {
  return value_or_raise(value_or_throw(find_runtime())->ranks_of(set));
}

int rank_in(const ProcessSet& set) {
  return value_or_raise(value_or_throw(find_runtime())->rank_in(set));
}

std::unique_ptr<Operation> start_removal(const ProcessSet& set) {
  return operation(
      value_or_throw(find_runtime())->remove_process_set_async(set));
}

ProcessSet add_set(std::vector<int> ranks) {
  StatusOr<ProcessSet> added = Status();
  {
    const nb::gil_scoped_release without_gil;
    added = add_process_set(std::move(ranks));
  }
  raise_if_failed(added.status());
  return *std::move(added);
}

ProcessSet new_set(std::vector<int> ranks, const std::string& key) {
  StatusOr<ProcessSet> made = Status();
  {
    const nb::gil_scoped_release without_gil;
    made = new_process_set(std::move(ranks), key);
  }
  raise_if_failed(made.status());
  return *std::move(made);
}

std::unique_ptr<Operation> start_to_free(const ProcessSet& set) {
  return operation(value_or_throw(find_runtime())->free_process_set_async(set));
}

}  // namespace

void add_process_sets(nb::module_& module) {
  nb::class_<ProcessSet>(module, "ProcessSet",
                         "Some ranks of a job; without arguments: all ranks.")
      .def(nb::init<>())
      .def_prop_ro("id", &ProcessSet::id)
      .def("__repr__", &ProcessSet::to_string);
  module.def("process_sets", &all_sets, "All sets of the job, by number.");
  module.def("ranks_of", &ranks_of, arg("process_set"),
             "The ranks of the set, ascending.");
  module.def("rank_in", &rank_in, arg("process_set"),
             "The position of this rank in the set. Raises ValueError if it is "
             "not in the set.");
  module.def(
      "add_process_set", &add_set, arg("ranks"),
      "Adds a set of `ranks`, and returns it. Every rank of the job calls it.");
  module.def(
      "new_process_set", &new_set, arg("ranks"), arg("key"),
      "Creates a set of `ranks`, which its members alone call; returns once "
      "all of them have. `key` tells apart sets of the same ranks.");
  module.def("free_process_set", &start_to_free, arg("process_set"),
             "Starts to remove the set. Its members alone call it.");
  module.def("remove_process_set", &start_removal, arg("process_set"),
             "Starts to remove the set. Every rank of the job calls it.");
}

}  // namespace hvd::python
