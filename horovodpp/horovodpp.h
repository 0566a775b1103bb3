// All of horovodpp: one include.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include "horovodpp/autograd.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/data/data.h"
#include "horovodpp/nn/nn.h"
#include "horovodpp/optim/adam.h"
#include "horovodpp/optim/clip_grad.h"
#include "horovodpp/optim/distributed_optimizer.h"
#include "horovodpp/optim/lr_schedule.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/replica/broadcast.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/config.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/process_set.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/version.h"
