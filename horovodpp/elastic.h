// SPDX-License-Identifier: Apache-2.0
// Training that goes on when ranks are lost, and when others join.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/elastic/elastic_sampler.h"  // IWYU pragma: export
#include "horovodpp/elastic/run.h"              // IWYU pragma: export
#include "horovodpp/elastic/sharded_step.h"     // IWYU pragma: export
#include "horovodpp/elastic/state.h"            // IWYU pragma: export
#include "horovodpp/snapshot/snapshots.h"       // IWYU pragma: export
