// SPDX-License-Identifier: Apache-2.0
/* Tensors on GPUs through the C interface, with the fake CUDA driver that HOROVODPP_CUDA_LIBRARY
 * names. Its streams delay work on purpose. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "test/c/checks.h"

enum { kRows = 3, kMostRanks = 8 };

static int32_t rank;
static int32_t size;
static void* stream;

/* Functions of the driver; 0 is success. */
static int (*driver_cuInit)(unsigned);
static int (*driver_cuDevicePrimaryCtxRetain)(void**, int);
static int (*driver_cuCtxPushCurrent_v2)(void*);
static int (*driver_cuStreamCreateWithPriority)(void**, unsigned, int);
static int (*driver_cuMemAlloc_v2)(uint64_t*, size_t);
static int (*driver_cuMemcpyAsync)(uint64_t, uint64_t, size_t, void*);
static int (*driver_cuStreamSynchronize)(void*);

/* POSIX's way: C does not convert object pointers to function pointers. */
#define FIND(name) (*(void**)& driver_##name = dlsym(library, #name))

static void begin_on_gpu(void) {
  void* context = NULL;
  void* const library = dlopen(getenv("HOROVODPP_CUDA_LIBRARY"), RTLD_NOW);
  CHECK(library != NULL);
  FIND(cuInit);
  FIND(cuDevicePrimaryCtxRetain);
  FIND(cuCtxPushCurrent_v2);
  FIND(cuStreamCreateWithPriority);
  FIND(cuMemAlloc_v2);
  FIND(cuMemcpyAsync);
  FIND(cuStreamSynchronize);
  CHECK(driver_cuInit(0) == 0);
  CHECK(driver_cuDevicePrimaryCtxRetain(&context, 0) == 0);
  CHECK(driver_cuCtxPushCurrent_v2(context) == 0);
  CHECK(driver_cuStreamCreateWithPriority(&stream, 1, 0) == 0);
}

/* GPU memory that will hold `values` once the stream has copied them. */
static void* put(const float* values, size_t bytes) {
  uint64_t memory = 0;
  CHECK(driver_cuMemAlloc_v2(&memory, bytes) == 0);
  CHECK(driver_cuMemcpyAsync(memory, (uint64_t)(uintptr_t)values, bytes,
                             stream) == 0);
  return (void*)(uintptr_t)memory;
}

static void get(float* values, const void* memory, size_t bytes) {
  CHECK(driver_cuMemcpyAsync((uint64_t)(uintptr_t)values,
                             (uint64_t)(uintptr_t)memory, bytes, stream) == 0);
  CHECK(driver_cuStreamSynchronize(stream) == 0);
}

static void reduces_tensors_of_its_stream(void) {
  const int64_t dims[1] = {kRows};
  float values[kRows] = {0, 0, 0};
  hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
  int step;
  options.name = "reduced";
  options.op = HVD_SUM;
  options.stream = stream;
  for (step = 1; step <= 3; ++step) {
    const float mine[kRows] = {(float)step, (float)rank, 1.0f};
    void* const memory = put(mine, sizeof(mine));
    const hvd_tensor tensor = {memory, dims, 1, HVD_FLOAT32, HVD_CUDA(0)};
    hvd_operation operation = 0;
    CHECK_OK(hvd_allreduce_async(&tensor, 1, &options, &operation));
    /* The host waits in one step; in the others only the stream waits. */
    if (step == 1) CHECK_OK(hvd_wait(operation));
    if (step != 1) CHECK_OK(hvd_wait_in_stream(operation, stream));
    get(values, memory, sizeof(values));
    CHECK(values[0] == (float)(step * size) && values[2] == (float)size);
    CHECK(values[1] == (float)(size * (size - 1) / 2));
    CHECK_OK(hvd_finish(operation));
  }
}

static void has_results_on_the_gpu(void) {
  const int64_t dims[2] = {1, kRows};
  const float mine[kRows] = {(float)rank, 2.0f, 3.0f};
  const hvd_tensor tensor = {put(mine, sizeof(mine)), dims, 2, HVD_FLOAT32,
                             HVD_CUDA(0)};
  float values[kMostRanks * kRows];
  hvd_collective_options options = HVD_COLLECTIVE_OPTIONS;
  hvd_operation operation = 0;
  hvd_tensor all = {NULL, NULL, 0, 0, HVD_CPU};
  int i;
  options.stream = stream;
  CHECK_OK(hvd_allgather_async(&tensor, 1, &options, &operation));
  CHECK_OK(hvd_wait(operation));
  CHECK_OK(hvd_result(operation, 0, &all));
  CHECK(all.device == HVD_CUDA(0) && all.dtype == HVD_FLOAT32);
  CHECK(all.num_dims == 2 && all.dims[0] == size && all.dims[1] == kRows);
  get(values, all.data, (size_t)size * sizeof(mine));
  for (i = 0; i < size; ++i) CHECK(values[i * kRows] == (float)i);
  CHECK_OK(hvd_finish(operation));
}

static void reduces_gradients(void) {
  const int64_t dims[1] = {kRows};
  const float mine[kRows] = {(float)rank, 1.0f, 2.0f};
  const hvd_tensor gradient = {put(mine, sizeof(mine)), dims, 1, HVD_FLOAT32,
                               HVD_CUDA(0)};
  float values[kRows] = {0, 0, 0};
  hvd_reducer reducer = 0;
  /* Ordered after the default stream, which is not this stream. */
  CHECK(driver_cuStreamSynchronize(stream) == 0);
  CHECK_OK(hvd_reducer_create(NULL, &reducer));
  CHECK_OK(hvd_reducer_add(reducer, "weight", &gradient));
  CHECK_OK(hvd_reducer_finish(reducer));
  get(values, gradient.data, sizeof(values));
  CHECK(values[0] == (float)(size - 1) / 2.0f && values[2] == 2.0f);
  CHECK_OK(hvd_reducer_destroy(reducer));
}

static void has_memory_for_gradients(void) {
  const int64_t dims[1] = {kRows};
  const float mine[kRows] = {1.0f, (float)rank, 2.0f};
  float values[kRows] = {0, 0, 0};
  hvd_tensor gradient = {NULL, dims, 1, HVD_FLOAT32, HVD_CUDA(0)};
  hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
  hvd_operation operation = 0;
  CHECK_OK(hvd_arena_alloc_on(HVD_CUDA(0), sizeof(mine), &gradient.data));
  CHECK(driver_cuMemcpyAsync((uint64_t)(uintptr_t)gradient.data,
                             (uint64_t)(uintptr_t)mine, sizeof(mine),
                             stream) == 0);
  options.op = HVD_SUM;
  options.stream = stream;
  CHECK_OK(hvd_allreduce_async(&gradient, 1, &options, &operation));
  CHECK_OK(hvd_finish(operation));
  get(values, gradient.data, sizeof(values));
  CHECK(values[0] == (float)size && values[2] == 2.0f * (float)size);
  CHECK_OK(hvd_arena_free(gradient.data));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "freed before",
                hvd_arena_free(gradient.data));
  CHECK_OK(hvd_arena_alloc_on(HVD_CUDA(0), 0, &gradient.data));
  CHECK_OK(hvd_arena_free(gradient.data));
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "no GPU 99",
                hvd_arena_alloc_on(HVD_CUDA(99), 64, &gradient.data));
}

static void refuses_missing_devices(void) {
  const int64_t dims[1] = {1};
  float value = 1.0f;
  hvd_tensor tensor = {&value, dims, 1, HVD_FLOAT32, -1};
  hvd_operation operation = 0;
  CHECK_REFUSED(HVD_INVALID_ARGUMENT, "no device with number -1",
                hvd_allreduce_async(&tensor, 1, NULL, &operation));
  tensor.device = HVD_CUDA(99);
  CHECK(hvd_allreduce_async(&tensor, 1, NULL, &operation) != HVD_OK);
  CHECK(strstr(hvd_last_error_text(), "99") != NULL);
}

int main(void) {
  begin_on_gpu();
  CHECK_OK(hvd_init(HVD_C_VERSION));
  if (failures > 0) return 1;
  rank = hvd_rank();
  size = hvd_size();
  reduces_tensors_of_its_stream();
  has_results_on_the_gpu();
  reduces_gradients();
  has_memory_for_gradients();
  refuses_missing_devices();
  CHECK_OK(hvd_shutdown());
  return failures > 0;
}
