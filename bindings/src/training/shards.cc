// SPDX-License-Identifier: Apache-2.0
#include "src/training/shards.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/replica/shard_sum.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
#include "src/described.h"
#include "src/errors.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

// A ShardSum, and the job that it needs.
class JobsShardSum {
 public:
  JobsShardSum(int shards, const std::string& name)
      : job_(value_or_raise(find_runtime())),
        sum_(*job_, {.shards = shards, .name = name}) {}

  std::pair<int, int> owned() const {
    return {sum_.owned().begin, sum_.owned().end};
  }
  void add(int shard, const std::vector<Described>& tensors) {
    std::vector<ConstTensorView> views;
    for (const Described& tensor : tensors) views.push_back(view_of(tensor));
    raise_if_error(sum_.add(shard, views));
  }
  void finish(const std::vector<Described>& results) {
    std::vector<TensorView> views;
    for (const Described& result : results) views.push_back(view_of(result));
    Status status;
    {
      const nb::gil_scoped_release without_gil;
      status = sum_.finish(views);
    }
    raise_if_error(status);
  }
  void clear() { sum_.clear(); }

 private:
  const std::shared_ptr<Runtime> job_;
  replica::ShardSum sum_;
};

}  // namespace

void add_shards(nb::module_& module) {
  nb::class_<JobsShardSum>(
      module, "ShardSum",
      "The mean of tensors over virtual shards, whose bits do not depend on "
      "the number of ranks. Belongs to one job.")
      .def(nb::init<int, const std::string&>(), arg("shards"), arg("name"))
      .def("owned", &JobsShardSum::owned,
           "(first, last + 1) of this rank's shards.")
      .def("add", &JobsShardSum::add, arg("shard"), arg("tensors"),
           "Copies a shard's tensors. Shards come in order.")
      .def("finish", &JobsShardSum::finish, arg("results"),
           "Writes the means; blocks. All ranks call it.")
      .def("clear", &JobsShardSum::clear, "Drops the shards added.");
}

}  // namespace hvd::python
