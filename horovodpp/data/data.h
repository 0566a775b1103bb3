// SPDX-License-Identifier: Apache-2.0
// The data folder in one include: data sets, samplers, and loaders.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/data/augment/affine.h"       // IWYU pragma: export
#include "horovodpp/data/augment/functions.h"    // IWYU pragma: export
#include "horovodpp/data/augment/mix.h"          // IWYU pragma: export
#include "horovodpp/data/augment/policies.h"     // IWYU pragma: export
#include "horovodpp/data/augment/tones.h"        // IWYU pragma: export
#include "horovodpp/data/augment/transforms.h"   // IWYU pragma: export
#include "horovodpp/data/augmented_dataset.h"    // IWYU pragma: export
#include "horovodpp/data/byte_text.h"            // IWYU pragma: export
#include "horovodpp/data/csv_file.h"             // IWYU pragma: export
#include "horovodpp/data/data_loader.h"          // IWYU pragma: export
#include "horovodpp/data/dataset.h"              // IWYU pragma: export
#include "horovodpp/data/distributed_sampler.h"  // IWYU pragma: export
#include "horovodpp/data/idx_reader.h"           // IWYU pragma: export
#include "horovodpp/data/image_folder.h"         // IWYU pragma: export
#include "horovodpp/data/images/image_file.h"    // IWYU pragma: export
#include "horovodpp/data/item_random.h"          // IWYU pragma: export
#include "horovodpp/data/token_file.h"           // IWYU pragma: export
#include "horovodpp/data/tokenizer/tokenizer.h"  // IWYU pragma: export
