// SPDX-License-Identifier: Apache-2.0
#include "src/training/snapshots.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/snapshot/snapshots.h"
#include "src/described.h"
#include "src/errors.h"

namespace hvd::python {
namespace {

namespace nb = nanobind;
using nb::arg;
using snapshot::Snapshots;

// Raises an error of files as OSError.
void raise_of_files(const Status& status) {
  if (status.ok()) return;
  if (status.code() == StatusCode::kInvalidArgument) raise(status);
  PyErr_SetString(PyExc_OSError, std::string(status.message()).c_str());
  throw nb::python_error();
}

class FolderOfSnapshots {
 public:
  FolderOfSnapshots(const std::string& directory, bool each_host, int keep,
                    double share_of_time) {
    auto opened = Snapshots::open({.directory = directory,
                                   .each_host = each_host,
                                   .keep = keep,
                                   .share_of_time = share_of_time});
    raise_of_files(opened.status());
    snapshots_ = *std::move(opened);
  }

  void save(std::int64_t step,
            const std::vector<std::pair<std::string, Described>>& values,
            const nb::bytes& note) {
    std::vector<snapshot::NamedBytes> named;
    for (const auto& [name, tensor] : values) {
      const TensorView view = view_of(tensor);
      named.push_back({name, view.data(), view.bytes()});
    }
    const std::string text(note.c_str(), note.size());
    Status status;
    {
      const nb::gil_scoped_release without_gil;
      status = snapshots_->save(step, named, text);
    }
    raise_if_error(status);
  }

  void finish() {
    Status status;
    {
      const nb::gil_scoped_release without_gil;
      status = snapshots_->finish();
    }
    raise_of_files(status);
  }

  nb::object load_newest() {
    StatusOr<std::optional<snapshot::Snapshot>> newest = Status();
    {
      const nb::gil_scoped_release without_gil;
      newest = snapshots_->load_newest();
    }
    raise_if_error(newest.status());
    if (!newest->has_value()) return nb::none();
    const snapshot::Snapshot& found = **newest;
    nb::list values;
    for (const auto& [name, data, size] : found.values()) {
      values.append(nb::bytes(reinterpret_cast<const char*>(data), size));
    }
    return nb::make_tuple(found.step(),
                          nb::bytes(found.note().data(), found.note().size()),
                          values);
  }

  nb::dict stats() const {
    const snapshot::SnapshotStats stats = snapshots_->stats();
    nb::dict result;
    result["begun"] = stats.begun;
    result["skipped"] = stats.skipped;
    result["failed"] = stats.failed;
    result["save_seconds"] = stats.save_seconds;
    result["write_seconds"] = stats.write_seconds;
    result["bytes"] = stats.bytes;
    return result;
  }

 private:
  std::unique_ptr<Snapshots> snapshots_;
};

}  // namespace

void add_snapshots(nb::module_& module) {
  nb::class_<FolderOfSnapshots>(
      module, "Snapshots",
      "Copies of a job's state on disk, which survive all of its ranks.")
      .def(nb::init<const std::string&, bool, int, double>(), arg("directory"),
           arg("each_host"), arg("keep"), arg("share_of_time"))
      .def("save", &FolderOfSnapshots::save, arg("step"), arg("values"),
           arg("note"), "Begins a snapshot, or skips it. All ranks call it.")
      .def("finish", &FolderOfSnapshots::finish,
           "Waits until the last snapshot is written. Raises OSError.")
      .def("load_newest", &FolderOfSnapshots::load_newest,
           "(step, note, the bytes of the values), or None. All ranks call it.")
      .def("stats", &FolderOfSnapshots::stats,
           "Counts of snapshots, bytes and seconds.");
}

}  // namespace hvd::python
