// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::autograd {

constinit thread_local ThreadState thread_state{};

}  // namespace hvd::autograd
