// All of horovodpp that a program needs: one include.
#pragma once

#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/config.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"
