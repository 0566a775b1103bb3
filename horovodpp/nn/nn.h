// The parts that models are made of.
#pragma once

#include "horovodpp/nn/activation.h"   // IWYU pragma: export
#include "horovodpp/nn/init.h"         // IWYU pragma: export
#include "horovodpp/nn/linear.h"       // IWYU pragma: export
#include "horovodpp/nn/module.h"       // IWYU pragma: export
#include "horovodpp/nn/safetensors.h"  // IWYU pragma: export
#include "horovodpp/nn/sequential.h"   // IWYU pragma: export
#include "horovodpp/nn/state_dict.h"   // IWYU pragma: export
