// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/images/pixels.h"

namespace hvd::data {

Pixels decode_jpeg(const EncodedImage& image) {
  fail_without(image, "JPEG", "libjpeg-turbo (on Debian: libjpeg62-turbo-dev)");
}

}  // namespace hvd::data
