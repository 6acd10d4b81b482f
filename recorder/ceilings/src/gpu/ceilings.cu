// What a device can do at most, without tensor cores. `recorder/cuda/kernels/generate.py` makes the PTX of it.
//
// Each kernel writes what it made, or would: so nothing of it can be left out. How much work a launch is follows
// from its arguments by the formula beside it.

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ u64 thread() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }
static __device__ u64 threads() { return gridDim.x * (u64)blockDim.x; }

// Random-looking numbers between 1 and 2: what a memory draws depends on what it holds.
extern "C" __global__ void peak_fill(uint4 *to, u64 count) {
  for (u64 at = thread(); at < count; at += threads()) {
    u32 x = (u32)at * 0x9E3779B9u;
    uint4 v;
    x ^= x >> 16, x *= 0x85EBCA6Bu, v.x = x >> 9 | 0x3f800000u;
    x ^= x >> 13, x *= 0xC2B2AE35u, v.y = x >> 9 | 0x3f800000u;
    x ^= x >> 16, x *= 0x85EBCA6Bu, v.z = x >> 9 | 0x3f800000u;
    x ^= x >> 13, x *= 0xC2B2AE35u, v.w = x >> 9 | 0x3f800000u;
    to[at] = v;
  }
}

// passes * 16 * count bytes. Words are xored, and written only if that gives what it never does.
extern "C" __global__ void peak_read(u32 *out, const uint4 *from, u64 count, u32 passes) {
  u32 sum = 0;
  for (u32 pass = 0; pass < passes; pass++) {
    u64 at = thread();
    const u64 step = threads();
    for (; at + 3 * step < count; at += 4 * step) {
      uint4 v[4];
#pragma unroll
      for (int i = 0; i < 4; i++)  // Volatile: each pass reads anew; L1 keeps nothing of it.
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w) : "l"(from + at + i * step));
#pragma unroll
      for (int i = 0; i < 4; i++) sum ^= (v[i].x ^ v[i].y) + (v[i].z ^ v[i].w);
    }
    for (; at < count; at += step) {
      uint4 v;
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + at));
      sum ^= (v.x ^ v.y) + (v.z ^ v.w);
    }
    sum += pass;
  }
  if (passes == 0) out[thread() % 32] = sum;
  else if (sum == 0xdeadbeefu && count == 1) out[0] = sum;
}

static __device__ uint4 loaded(const uint4 *from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}

static __device__ void stored(uint4 *to, uint4 v) {
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" : : "l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// passes * 2 * 16 * count bytes.
extern "C" __global__ void peak_copy(uint4 *to, const uint4 *from, u64 count, u32 passes) {
  for (u32 pass = 0; pass < passes; pass++) {
    u64 at = thread();
    const u64 step = threads();
    for (; at + 3 * step < count; at += 4 * step) {
      uint4 v[4];
#pragma unroll
      for (int i = 0; i < 4; i++) v[i] = loaded(from + at + i * step);
#pragma unroll
      for (int i = 0; i < 4; i++) stored(to + at + i * step, v[i]);
    }
    for (; at < count; at += step) stored(to + at, loaded(from + at));
  }
}

static __device__ u32 triad(u32 a, u32 b) {
  return __float_as_uint(__fmaf_rn(__uint_as_float(b), 3.0f, __uint_as_float(a)));
}

static __device__ uint4 triad(uint4 a, uint4 b) {
  return make_uint4(triad(a.x, b.x), triad(a.y, b.y), triad(a.z, b.z), triad(a.w, b.w));
}

// to = a + 3 b: passes * 3 * 16 * count bytes.
extern "C" __global__ void peak_triad(uint4 *to, const uint4 *a, const uint4 *b, u64 count, u32 passes) {
  for (u32 pass = 0; pass < passes; pass++) {
    u64 at = thread();
    const u64 step = threads();
    for (; at + step < count; at += 2 * step) {
      uint4 a0 = loaded(a + at), b0 = loaded(b + at), a1 = loaded(a + at + step), b1 = loaded(b + at + step);
      stored(to + at, triad(a0, b0)), stored(to + at + step, triad(a1, b1));
    }
    for (; at < count; at += step) stored(to + at, triad(loaded(a + at), loaded(b + at)));
  }
}

// Shared memory: threads * rounds * 8 * 16 bytes, of 256 threads a block. Neighbours read neighbouring words, so no
// two of a group meet in a bank; where depends on what was read, so that no read can be left out.
extern "C" __global__ void peak_shared(u32 *out, u32 rounds, u32 zero) {
  __shared__ uint4 words[1024];
  for (u32 at = threadIdx.x; at < 1024; at += blockDim.x) words[at] = make_uint4(zero, zero, zero, zero);
  __syncthreads();
  u32 at = threadIdx.x, sum = 0;
  for (u32 round = 0; round < rounds; round++) {
    uint4 v[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      u32 address = (u32)__cvta_generic_to_shared(words + ((at + i * 32) & 1023));
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w) : "r"(address));
    }
#pragma unroll
    for (int i = 0; i < 8; i++) sum |= v[i].x | v[i].y | v[i].z | v[i].w;
    at += sum;
  }
  out[thread()] = sum + at;
}

// threads * rounds * 8 * 16 * 2 flop: sixteen chains that do not depend on one another. `x` and `y` come from
// outside, so nothing can be computed before.
extern "C" __global__ void peak_ffma(float *out, u32 rounds, float x, float y) {
  float chain[16];
#pragma unroll
  for (int i = 0; i < 16; i++) chain[i] = x * (float)(threadIdx.x + i);
#pragma unroll 1
  for (u32 round = 0; round < rounds; round++) {
#pragma unroll
    for (int step = 0; step < 8; step++)
#pragma unroll
      for (int i = 0; i < 16; i++) chain[i] = __fmaf_rn(chain[i], x, y);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) sum += chain[i];
  out[thread()] = sum;
}

// threads * rounds * 8 * 8 * 2 flop.
extern "C" __global__ void peak_dfma(double *out, u32 rounds, double x, double y) {
  double chain[8];
#pragma unroll
  for (int i = 0; i < 8; i++) chain[i] = x * (double)(threadIdx.x + i);
#pragma unroll 1
  for (u32 round = 0; round < rounds; round++) {
#pragma unroll
    for (int step = 0; step < 8; step++)
#pragma unroll
      for (int i = 0; i < 8; i++) chain[i] = __fma_rn(chain[i], x, y);
  }
  double sum = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) sum += chain[i];
  out[thread()] = sum;
}

// How fast the clock of the processors is while one thread multiplies: ticks, and nanoseconds.
extern "C" __global__ void peak_clock(u64 *out, u32 rounds, float x, float y) {
  u64 t0, t1;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
  long long c0 = clock64();
  float chain = x;
#pragma unroll 1
  for (u32 round = 0; round < rounds; round++)
#pragma unroll
    for (int step = 0; step < 16; step++) chain = __fmaf_rn(chain, x, y);
  // What comes after needs what the loop made.
  out[2] = __float_as_uint(chain);
  long long c1 = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
  out[0] = (u64)(c1 - c0), out[1] = t1 - t0;
}
