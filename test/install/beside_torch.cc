// SPDX-License-Identifier: Apache-2.0
// The parts of horovodpp that compute with libraries that libtorch brings, too:
// oneDNN and BLAS.
#include <horovodpp/horovodpp.h>

#include <exception>

extern "C" double convolved(int size);
extern "C" double multiplied(int size);

// The sum of a convolution of ones with 3 x 3 ones; -1: exception.
double convolved(int size) try {
  const hvd::Tensor image = hvd::ones({1, 2, size, size});
  const hvd::Tensor weight = hvd::ones({4, 2, 3, 3});
  return static_cast<double>(hvd::conv2d(image, weight).sum().item<float>());
} catch (const std::exception&) {
  return -1;
}

double multiplied(int size) try {
  const hvd::Tensor x = hvd::ones({size, size});
  return static_cast<double>(hvd::matmul(x, x).sum().item<float>());
} catch (const std::exception&) {
  return -1;
}
