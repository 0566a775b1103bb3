// SPDX-License-Identifier: Apache-2.0
// The version of horovodpp alone.
#pragma once

#include "horovodpp/core/version.h"  // IWYU pragma: export
