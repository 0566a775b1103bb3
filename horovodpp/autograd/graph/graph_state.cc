// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/autograd/graph/graph_state.h"

namespace hvd::autograd {

constinit thread_local GraphState graph_state{};

}  // namespace hvd::autograd
