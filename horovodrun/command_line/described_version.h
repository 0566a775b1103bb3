// SPDX-License-Identifier: Apache-2.0
// The version of the launcher, with its commit if git knew one:
// "0.1.0+12.g4f7248f".
#pragma once

namespace hvd::launcher {

const char* described_version();

// The version of oneDNN that the library was built with, or that it was built
// without.
const char* built_with_dnnl();

}  // namespace hvd::launcher
