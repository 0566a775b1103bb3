// SPDX-License-Identifier: Apache-2.0
// The channels that a caller requests of an image.
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace data {

enum class Colors { kRgb, kGray };

}  // namespace data
}  // namespace hvd
