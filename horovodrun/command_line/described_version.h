// SPDX-License-Identifier: Apache-2.0
// The version of the launcher, with the commit it was built from where git knew one:
// "0.1.0+12.g4f7248f".
#pragma once

namespace hvd::launcher {

const char* described_version();

}  // namespace hvd::launcher
