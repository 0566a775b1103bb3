// SPDX-License-Identifier: Apache-2.0
// The version of libtorch that this is compiled with.
#pragma once

#include <torch/version.h>

#define HVD_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||      \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
