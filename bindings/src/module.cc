// SPDX-License-Identifier: Apache-2.0
// horovodpp._core is the library's Python module. It knows no framework, only
// addresses, dtypes and shapes.
#include <nanobind/nanobind.h>

#include "src/arena.h"
#include "src/captured_steps.h"
#include "src/collectives.h"
#include "src/completions.h"
#include "src/errors.h"
#include "src/handles.h"
#include "src/job.h"
#include "src/operation.h"
#include "src/plain_tensors.h"
#include "src/process_sets.h"
#include "src/training/compression.h"
#include "src/training/dry_steps.h"
#include "src/training/gradients.h"
#include "src/training/shards.h"
#include "src/training/snapshots.h"

NB_MODULE(_core, module) {
  // Operations in flight at interpreter exit are leaked on purpose.
  nanobind::set_leak_warnings(false);
  hvd::python::add_errors(module);
  hvd::python::add_operation(module);
  hvd::python::add_process_sets(module);
  hvd::python::add_job(module);
  hvd::python::add_collectives(module);
  hvd::python::add_handles(module);
  hvd::python::add_plain_tensors(module);
  hvd::python::add_arena(module);
  hvd::python::add_captured_steps(module);
  hvd::python::add_completions(module);
  hvd::python::add_compression(module);
  hvd::python::add_dry_steps(module);
  hvd::python::add_gradients(module);
  hvd::python::add_shards(module);
  hvd::python::add_snapshots(module);
}
