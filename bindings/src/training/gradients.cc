// SPDX-License-Identifier: Apache-2.0
#include "src/training/gradients.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/tensor_view.h"
#include "horovodpp/replica/gradient_ledger.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/settings/waits_at_once.h"
#include "src/operation.h"
#include "src/process_sets.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;
using replica::ContributionState;
using replica::Due;
using replica::GradientLedger;
using Indices = std::vector<std::size_t>;
using Facts = std::vector<std::uint8_t>;

nb::bytes facts(const GradientLedger& ledger, const Indices& gradients,
                const Facts& exist) {
  const Facts facts = ledger.facts(gradients, exist);
  return nb::bytes(facts.data(), facts.size());
}

Facts numbers_of(const nb::bytes& bytes) {
  const auto* const first = static_cast<const std::uint8_t*>(bytes.data());
  return Facts(first, first + bytes.size());
}

nb::tuple agree(GradientLedger& ledger, const Indices& gradients,
                const nb::bytes& facts) {
  const auto agreement = ledger.agree(gradients, numbers_of(facts));
  return nb::make_tuple(nb::cast(agreement.late), agreement.all_held);
}

nb::bytes most(const nb::bytes& numbers, std::string name,
               const ProcessSet& set) {
  const auto kept = std::make_shared<Facts>(numbers_of(numbers));
  const auto count = static_cast<std::int64_t>(kept->size());
  AllreduceOptions options;
  options.name = std::move(name);
  options.op = ReduceOp::kMax;
  options.process_set = set;
  options.keep_alive = kept;  // An interrupt ends the wait alone.
  std::unique_ptr<Operation> reduced;
  {
    const WaitsAtOnce at_once;
    reduced = operation(allreduce_async_(
        TensorView::of(kept->data(), Shape{count}), std::move(options)));
  }
  wait(*reduced);
  return nb::bytes(kept->data(), kept->size());
}

}  // namespace

void add_gradients(nb::module_& module) {
  module.def("most", &most, arg("numbers"), arg("name"), arg("process_set"),
             "Waits for the maximum over the set's ranks of each byte.");
  nb::enum_<ContributionState>(module, "ContributionState",
                               "The state of a gradient after a contribution.")
      .value("MORE", ContributionState::kMore)
      .value("COMPLETE", ContributionState::kComplete)
      .value("HELD", ContributionState::kHeld)
      .value("LATE", ContributionState::kLate);
  nb::enum_<Due>(module, "Due", "The gradients to be sent now.")
      .value("NOTHING", Due::kNothing)
      .value("ITSELF", Due::kItself)
      .value("GROUP", Due::kGroup)
      .value("HELD", Due::kHeld)
      .value("BUCKET", Due::kBucket);
  module.def("best_bucket_bytes", &replica::bucket_bytes_for,
             arg("local_ranks"), arg("ranks"), arg("threads"),
             "The best bucket_bytes if each rank computes with `threads`.");
  nb::class_<GradientLedger>(
      module, "GradientLedger",
      "The bookkeeping of an optimizer's gradients, which are numbered. See "
      "horovodpp/replica/gradient_ledger.h.")
      .def(nb::init<std::size_t>(), arg("bucket_bytes") = 0)
      .def("enter", &GradientLedger::enter, arg("name"))
      .def("expect_of_all", &GradientLedger::expect_of_all,
           arg("contributions"))
      .def("add_group", &GradientLedger::add_group, arg("members"))
      .def("set_in_group", &GradientLedger::set_in_group, arg("i"),
           arg("is_in_group"))
      .def("is_taken", &GradientLedger::is_taken, arg("i"))
      .def("count", &GradientLedger::count, arg("i"))
      .def("forget_contributions", &GradientLedger::forget_contributions)
      .def("expect_late_part", &GradientLedger::expect_late_part, arg("i"))
      .def("is_nested", &GradientLedger::is_nested, arg("i"))
      .def("learn_parts", &GradientLedger::learn_parts)
      .def("parts", &GradientLedger::parts, arg("i"))
      .def("complete", &GradientLedger::complete, arg("i"), arg("bytes").none(),
           arg("is_nested") = false)
      .def("group_of", &GradientLedger::group_of, arg("i"))
      .def("take_group", &GradientLedger::take_group, arg("group"))
      .def("waiting_groups", &GradientLedger::waiting_groups)
      .def("release", &GradientLedger::release)
      .def("mark_sent", &GradientLedger::mark_sent, arg("i"))
      .def("facts", &facts, arg("gradients"), arg("exist"))
      .def("agree", &agree, arg("gradients"), arg("facts"),
           "Returns (gradients with a late part on some rank, whether every "
           "rank holds all complete gradients).")
      .def("rest", &GradientLedger::rest, arg("gradients"))
      .def("reset", &GradientLedger::reset);
}

}  // namespace hvd::python
