// SPDX-License-Identifier: Apache-2.0
#include "src/job.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/gpu/gpu_choice.h"
#include "horovodpp/runtime/meeting.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/runtime/settings/interruptible.h"
#include "src/described.h"
#include "src/errors.h"
#include "src/operation.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;

// The place, the key, the rank and the size with which a process enters its
// job; nullopt: as the variables of its launcher say.
using Place = std::optional<std::tuple<std::string, std::string, int, int>>;

void set_place(const Place& place, Config& config) {
  if (!place) return;
  std::tie(config.rendezvous, config.job_key, config.rank,
           config.expected_size) = *place;
  config.scheduled.clear();
}

Meeting open_meeting(int size) {
  const nb::gil_scoped_release without_gil;
  return value_or_throw(Meeting::open(size));
}

void enter(std::vector<std::vector<int>> process_sets, const Place& place) {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    StatusOr<Config> config = Config::from_env();
    if (config.ok()) {
      config->process_sets = std::move(process_sets);
      set_place(place, *config);
      const Interruptible scope(&handler_has_raised);
      status = init(*config);
    } else {
      status = config.status();
    }
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  raise_if_error(status);
}

void leave() {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    status = shutdown();
  }
  // A broken job has already reported its error to every waiting call.
  if (status.code() == StatusCode::kFailedPrecondition) raise(status);
}

void go_on() {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    status = reform();
  }
  raise_if_error(status);
}

// None, or why the job goes on as before.
std::optional<std::string> take_newcomers() {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    status = grow();
  }
  if (status.code() == StatusCode::kUnavailable) {
    return std::string(status.message());
  }
  raise_if_error(status);
  return std::nullopt;
}

void write_timeline(const std::string& path, bool mark_cycles) {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    status = start_timeline(path, {.mark_cycles = mark_cycles});
  }
  raise_if_error(status);
}

void end_step() { raise_if_error(mark_step()); }

void end_timeline() {
  Status status;
  {
    const nb::gil_scoped_release without_gil;
    status = stop_timeline();
  }
  raise_if_error(status);
}

nb::dict described(const Metric& metric) {
  nb::dict labels;
  for (const auto& [name, value] : metric.labels) labels[name.c_str()] = value;
  nb::dict series;
  series["labels"] = labels;
  if (metric.type != MetricType::kHistogram) {
    series["value"] = metric.value;
    return series;
  }
  nb::list buckets;
  for (const MetricBucket& bucket : metric.buckets) {
    buckets.append(nb::make_tuple(bucket.bound, bucket.count));
  }
  series["sum"] = metric.value;
  series["count"] = metric.buckets.back().count;
  series["buckets"] = buckets;
  return series;
}

nb::dict describe_metrics() {
  StatusOr<std::vector<Metric>> all = Status();
  {
    const nb::gil_scoped_release without_gil;
    all = metrics();
  }
  raise_if_error(all.status());
  nb::dict by_name;
  for (const Metric& metric : *all) {
    const char* const name = metric.name.c_str();
    if (!by_name.contains(name)) by_name[name] = nb::list();
    nb::cast<nb::list>(by_name[name]).append(described(metric));
  }
  return by_name;
}

void on_threads(int ranks, const nb::callable& body) {
  const nb::gil_scoped_release without_gil;
  run_ranks(ranks, [&] {
    const nb::gil_scoped_acquire with_gil;
    body();
  });
}

void give_up(const std::string& why) {
  if (const auto job = find_runtime(); job.ok()) (*job)->abort(why);
}

}  // namespace

void add_job(nb::module_& module) {
  nb::class_<Meeting>(
      module, "Meeting",
      "The meeting point of a job's ranks; open until it is deleted.")
      .def(
          "__init__",
          [](Meeting* self, int size) {
            new (self) Meeting(open_meeting(size));
          },
          arg("size"))
      .def_prop_ro("place", &Meeting::place)
      .def_prop_ro("key", &Meeting::key);
  module.def(
      "init", &enter, arg("process_sets"), arg("place").none() = nb::none(),
      "Enters a job with these process sets. `place`: (place, key, "
      "rank, size) of a Meeting; None: as the launcher's variables say.");
  module.def("shutdown", &leave);
  module.def("reform", &go_on,
             "Replaces a broken job by a job without the lost ranks. Every "
             "survivor calls it.");
  module.def("waiting_newcomers", &waiting_newcomers,
             "The number of waiting processes that grow() would take; 0 on "
             "ranks other than 0.");
  module.def("grow", &take_newcomers,
             "Continues with the newcomers that wait. Every rank calls it. "
             "Returns None, or why the job continues as before.");
  module.def("run_ranks", &on_threads, arg("ranks"), arg("body"),
             "Starts a job of `ranks` threads, calls `body` in each, and waits "
             "for all.");
  module.def(
      "abort", &give_up, arg("why"),
      "Breaks the job on every rank, because this rank cannot continue.");
  module.def("start_timeline", &write_timeline, arg("path"),
             arg("mark_cycles"));
  module.def("stop_timeline", &end_timeline);
  module.def("mark_step", &end_step);
  module.def("metrics", &describe_metrics,
             "This rank's metrics: for each name the list of its series.");
  module.def("begin_span", &trace::begin_span, arg("work"),
             "Begins a span of this thread in the timeline.");
  module.def("end_span", &trace::end_span, arg("work"),
             "Ends it, and those that this thread began later.");
  module.def("is_initialized", &is_initialized);
  module.def("rank", &rank);
  module.def("size", &size);
  module.def("local_rank", &local_rank);
  module.def("local_size", &local_size);
  module.def("cross_rank", &cross_rank);
  module.def("cross_size", &cross_size);
  module.def("is_homogeneous", &is_homogeneous);
  module.def("mpi_built", &mpi_built);
  module.def("cuda_built", &cuda_built);
  module.def("nccl_built", &nccl_built);
  module.attr("CPU") = kCpu;
  module.def(
      "gpu_of",
      [](std::uintptr_t address) {
        return value_or_raise(gpu_of(reinterpret_cast<const void*>(address)))
            .index;
      },
      arg("address"),
      "The index of the GPU that holds this memory. Raises ValueError for "
      "other memory.");
  module.def(
      "keep_for_ever", [](nb::object thing) { thing.release(); }, arg("thing"));
  module.def("version", [] { return std::string(version()); });
}

}  // namespace hvd::python
