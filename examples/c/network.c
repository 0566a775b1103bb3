// SPDX-License-Identifier: Apache-2.0
/* Trains a network of two layers in plain C: network [BATCH [STEPS]]. README.md shows
 * the lines that make it data parallel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <horovodpp/c/horovodpp.h>

enum { kInputs = 8, kHidden = 16 };

struct network {
  float w1[kHidden][kInputs];
  float b1[kHidden];
  float w2[kHidden];
  float b2;
};

/* The sums of a step: the gradient, followed by the loss. */
struct step {
  struct network gradient;
  float loss;
};

enum {
  kWeights = sizeof(struct network) / sizeof(float),
  kStep = sizeof(struct step) / sizeof(float)
};

static unsigned seed = 1;

/* In [-1, 1). */
static float random_number(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
}

/* A sample is computed from its number. */
static float sample(int number, float* x) {
  float y = 0.0f;
  int i;
  for (i = 0; i < kInputs; ++i) {
    x[i] = sinf((float)(number * (2 * i + 3) % 1009));
    y += x[i] * (i % 2 == 0 ? 0.5f : -0.25f);
  }
  return y * y;
}

/* Adds the gradient and the loss of one sample, weighted by `weight`. */
static void backward(const struct network* net, int number, float weight,
                     struct step* step) {
  float x[kInputs];
  float hidden[kHidden];
  const float y = sample(number, x);
  float error = net->b2 - y;
  int i;
  int j;
  for (j = 0; j < kHidden; ++j) {
    float sum = net->b1[j];
    for (i = 0; i < kInputs; ++i) sum += net->w1[j][i] * x[i];
    hidden[j] = tanhf(sum);
    error += net->w2[j] * hidden[j];
  }
  step->loss += weight * error * error;
  error *= 2.0f * weight;
  step->gradient.b2 += error;
  for (j = 0; j < kHidden; ++j) {
    const float inner = error * net->w2[j] * (1.0f - hidden[j] * hidden[j]);
    step->gradient.w2[j] += error * hidden[j];
    step->gradient.b1[j] += inner;
    for (i = 0; i < kInputs; ++i) step->gradient.w1[j][i] += inner * x[i];
  }
}

int main(int argc, char** argv) {
  const int batch = argc > 1 ? atoi(argv[1]) : 32;
  const int steps = argc > 2 ? atoi(argv[2]) : 20;
  struct network net;
  float* const weights = (float*)&net;
  int i;
  int t;
  if (hvd_init(HVD_C_VERSION)) return puts(hvd_last_error_text()), 1;
  for (i = 0; i < kWeights; ++i) weights[i] = 0.5f * random_number();
  if (hvd_broadcast(weights, kWeights, HVD_FLOAT32, 0, NULL)) return 1;
  for (t = 0; t < steps; ++t) {
    struct step step = {0};
    const float* const gradient = (const float*)&step.gradient;
    const int first = (t * hvd_size() + hvd_rank()) * batch;
    for (i = 0; i < batch; ++i) {
      backward(&net, first + i, 1.0f / (float)batch, &step);
    }
    if (hvd_allreduce(&step, kStep, HVD_FLOAT32, NULL)) break;
    for (i = 0; i < kWeights; ++i) weights[i] -= 0.1f * gradient[i];
    printf("step %d: loss %.7f\n", t, (double)step.loss);
  }
  return t < steps;
}
