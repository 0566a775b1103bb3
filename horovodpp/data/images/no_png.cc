// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/images/pixels.h"

namespace hvd::data {

Pixels decode_png(const EncodedImage& image) {
  fail_without(image, "PNG", "libpng (on Debian: libpng-dev)");
}

}  // namespace hvd::data
