// Tensor cores through `mma.sync`, from registers: on Hopper and later less than what `wgmma` reaches.
// `recorder/cuda/kernels/generate.py` makes the PTX of it.
//
// threads / 32 * rounds * 16 * 2 * M * N * K operations: four accumulators that do not depend on one another. The
// operands come from outside, and the sums are written.

typedef unsigned int u32;
typedef unsigned long long u64;

#define ROUNDS(STEP)                                     \
  _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++) { \
    _Pragma("unroll") for (int step = 0; step < 4; step++) \
    _Pragma("unroll") for (int i = 0; i < 4; i++) { STEP; } \
  }

static __device__ u64 thread() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }

#define FLOATS(NAME, SHAPE, TYPE)                                                                       \
  extern "C" __global__ void peak_mma_##NAME(float *out, u32 rounds, u32 a, u32 b) {                         \
    float c[4][4] = {};                                                                                       \
    u32 x = a + threadIdx.x, y = b + threadIdx.x;                                                             \
    ROUNDS(asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %7}, {%0, %1, %2, %3};" \
                        : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])                          \
                        : "r"(x), "r"(y), "r"(y), "r"(x)))                                                    \
    float sum = 0;                                                                                            \
    for (int i = 0; i < 4; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];                                 \
    out[thread()] = sum;                                                                                      \
  }

FLOATS(bf16, "m16n8k16", "bf16")
FLOATS(f16, "m16n8k16", "f16")
FLOATS(tf32, "m16n8k8", "tf32")

extern "C" __global__ void peak_mma_i8(int *out, u32 rounds, u32 a, u32 b) {
  int c[4][4] = {};
  u32 x = a + threadIdx.x, y = b + threadIdx.x;
  ROUNDS(asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %7}, {%0, %1, %2, %3};"
                      : "+r"(c[i][0]), "+r"(c[i][1]), "+r"(c[i][2]), "+r"(c[i][3])
                      : "r"(x), "r"(y), "r"(y), "r"(x)))
  int sum = 0;
  for (int i = 0; i < 4; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[thread()] = sum;
}
