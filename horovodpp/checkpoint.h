// SPDX-License-Identifier: Apache-2.0
// Checkpointing: backward recomputes values of forward instead of keeping them.
// docs/checkpointing.md compares the forms.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/autograd/record/effects.h"           // IWYU pragma: export
#include "horovodpp/checkpoint/budgets/memory_budget.h"  // IWYU pragma: export
#include "horovodpp/checkpoint/checkpoint.h"             // IWYU pragma: export
#include "horovodpp/checkpoint/planned_chain.h"          // IWYU pragma: export
#include "horovodpp/checkpoint/plans/plan.h"             // IWYU pragma: export
#include "horovodpp/checkpoint/policies/offload.h"       // IWYU pragma: export
#include "horovodpp/checkpoint/policies/policy.h"        // IWYU pragma: export
#include "horovodpp/checkpoint/replay_group.h"           // IWYU pragma: export
#include "horovodpp/checkpoint/sequential.h"             // IWYU pragma: export
