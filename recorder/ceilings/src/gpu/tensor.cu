// Tensor cores, by the instruction that feeds them: what `PART` names, so that each text is for the devices that have it.
// `recorder/cuda/kernels/generate.py` makes the PTX of it.
//
// Each kernel makes a product that is known: a row of A holds one value, a column of B holds one, and both are `one` or
// `two`. Every instruction adds K * row * column to an accumulator, and a thread writes the sum of those it has. So a
// kernel that does not do its work cannot be timed unnoticed. `one` and `two` fill a word: the kernels of a type differ
// in the instruction alone.

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ u64 thread() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }

// The same constants stand in `product.rs`.
static __device__ bool row_is_two(u32 row) { return 0x9E3779B97F4A7C15ull >> (row & 63) & 1; }
static __device__ bool column_is_two(u32 column) { return 0xD6E8FEB86659FD93ull >> (column & 63) & 1; }

// Of `mma.sync`: threads / 32 * rounds * 16 * 2 * M * N * K operations, with four accumulators that do not depend on one
// another. Four neighbours of a warp share a row.
#define ROUNDS(STEP)                                     \
  _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++) { \
    _Pragma("unroll") for (int step = 0; step < 4; step++) \
    _Pragma("unroll") for (int i = 0; i < 4; i++) { STEP; } \
  }
#define OPERANDS(TYPE)                                   \
  const u32 group = threadIdx.x % 32 / 4;                \
  const TYPE x = row_is_two(group) ? two : one, y = row_is_two(group + 8) ? two : one, b = column_is_two(group) ? two : one;

#define FLOATS(NAME, INSTRUCTION)                                                                            \
  extern "C" __global__ void peak_mma_##NAME(float *out, u32 rounds, u32 one, u32 two) {                     \
    OPERANDS(u32)                                                                                            \
    float c[4][4] = {};                                                                                      \
    ROUNDS(asm volatile("mma.sync.aligned." INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %6}, {%0, %1, %2, %3};" \
                        : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])                         \
                        : "r"(x), "r"(y), "r"(b)))                                                           \
    float sum = 0;                                                                                           \
    for (int i = 0; i < 4; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];                                \
    out[thread()] = sum;                                                                                     \
  }

// Two halves of a word.
static __device__ float halves(u32 word) {
  float low, high;
  asm("{\n.reg .b16 %%a, %%b;\nmov.b32 {%%a, %%b}, %2;\ncvt.f32.f16 %0, %%a;\ncvt.f32.f16 %1, %%b;\n}" : "=f"(low), "=f"(high) : "r"(word));
  return low + high;
}

#if PART == 80
FLOATS(bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
FLOATS(f16, "m16n8k16.row.col.f32.f16.f16.f32")
FLOATS(tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")

// Sums are kept in f16.
extern "C" __global__ void peak_mma_f16_acc(float *out, u32 rounds, u32 one, u32 two) {
  OPERANDS(u32)
  u32 c[4][2] = {};
  ROUNDS(asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %2, %3}, {%4, %4}, {%0, %1};"
                      : "+r"(c[i][0]), "+r"(c[i][1])
                      : "r"(x), "r"(y), "r"(b)))
  float sum = 0;
  for (int i = 0; i < 4; i++) sum += halves(c[i][0]) + halves(c[i][1]);
  out[thread()] = sum;
}

extern "C" __global__ void peak_mma_i8(int *out, u32 rounds, u32 one, u32 two) {
  OPERANDS(u32)
  int c[4][4] = {};
  ROUNDS(asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %6}, {%0, %1, %2, %3};"
                      : "+r"(c[i][0]), "+r"(c[i][1]), "+r"(c[i][2]), "+r"(c[i][3])
                      : "r"(x), "r"(y), "r"(b)))
  int sum = 0;
  for (int i = 0; i < 4; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[thread()] = sum;
}

// Eight rows, so `y` is of no use.
extern "C" __global__ void peak_mma_f64(double *out, u32 rounds, double one, double two) {
  OPERANDS(double)
  double c[4][2] = {};
  (void)y;
  ROUNDS(asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                      : "+d"(c[i][0]), "+d"(c[i][1])
                      : "d"(x), "d"(b)))
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += c[i][0] + c[i][1];
  out[thread()] = sum;
}
#endif

#if PART == 89
FLOATS(f8, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif

#if PART == 90
extern "C" __global__ void peak_mma_f64_k16(double *out, u32 rounds, double one, double two) {
  OPERANDS(double)
  double c[4][4] = {};
  ROUNDS(asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %4, %5, %4, %5, %4, %5}, {%6, %6, %6, %6}, {%0, %1, %2, %3};"
                      : "+d"(c[i][0]), "+d"(c[i][1]), "+d"(c[i][2]), "+d"(c[i][3])
                      : "d"(x), "d"(y), "d"(b)))
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[thread()] = sum;
}

// `wgmma`, of 128 threads a block: blocks * rounds * 16 * 2 * 64 * 256 * K operations, K * 256 bits a row. Both operands
// lie in shared memory without a swizzle, in matrices of 8 rows of 16 bytes: two of them next to each other are 8 rows of
// the 32 bytes that an instruction takes. 128 bytes lead to the next 16 bytes of a row, 256 to the next 8 rows.
static __device__ u64 descriptor(u32 address) { return (u64)(address >> 4 & 0x3fff) | 128ull >> 4 << 16 | 256ull >> 4 << 32; }

#define TILES                                                                                   \
  __shared__ __align__(128) u32 tiles[(64 + 256) * 8];                                          \
  for (u32 at = threadIdx.x; at < 64 * 8; at += 128)                                            \
    tiles[at] = row_is_two(at / 64 * 8 + at / 4 % 8) ? two : one;                               \
  for (u32 at = threadIdx.x; at < 256 * 8; at += 128)                                           \
    tiles[64 * 8 + at] = column_is_two(at / 64 * 8 + at / 4 % 8) ? two : one;                   \
  asm volatile("fence.proxy.async;" ::: "memory");                                              \
  __syncthreads();                                                                              \
  const u32 start = (u32)__cvta_generic_to_shared(tiles);                                       \
  const u64 a = descriptor(start), b = descriptor(start + 64 * 32);

#define FOUR(X) X X X X
#define LIST8(C, I) C(d[I]), C(d[I + 1]), C(d[I + 2]), C(d[I + 3]), C(d[I + 4]), C(d[I + 5]), C(d[I + 6]), C(d[I + 7])
#define LIST32(C, I) LIST8(C, I), LIST8(C, I + 8), LIST8(C, I + 16), LIST8(C, I + 24)
#define LIST64(C) LIST32(C, 0), LIST32(C, 32)
#define LIST128(C) LIST64(C), LIST32(C, 64), LIST32(C, 96)
#define NAMES64 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES128 NAMES64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define AS_FLOAT(X) "+f"(X)
#define AS_WORD(X) "+r"(X)

#define WGMMA(NAME, TYPE, ELEMENT, COUNT, AS, INSTRUCTION, LAST, A, B, SUM)                                            \
  extern "C" __global__ void __launch_bounds__(128) peak_wgmma_##NAME(TYPE *out, u32 rounds, u32 one, u32 two) { \
    TILES                                                                                                     \
    ELEMENT d[COUNT] = {};                                                                                 \
    _Pragma("unroll 1") for (u32 round = 0; round < rounds; round++)                                          \
      asm volatile("wgmma.fence.sync.aligned;\n"                                                              \
                   FOUR(FOUR("wgmma.mma_async.sync.aligned." INSTRUCTION " {" NAMES##COUNT "}, " A ", " B ", 1" LAST ";\n"))      \
                   "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"                       \
                   : LIST##COUNT(AS)                                                                          \
                   : "l"(a), "l"(b)                                                                           \
                   : "memory");                                                                               \
    TYPE sum = 0;                                                                                             \
    _Pragma("unroll") for (int i = 0; i < COUNT; i++) sum += SUM(d[i]);                                       \
    out[thread()] = sum;                                                                                      \
  }
#define SAME(X) (X)


WGMMA(bf16, float, float, 128, AS_FLOAT, "m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", "%128", "%129", SAME)
WGMMA(f16, float, float, 128, AS_FLOAT, "m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", "%128", "%129", SAME)
WGMMA(tf32, float, float, 128, AS_FLOAT, "m64n256k8.f32.tf32.tf32", ", 1, 1", "%128", "%129", SAME)
WGMMA(f8, float, float, 128, AS_FLOAT, "m64n256k32.f32.e4m3.e4m3", ", 1, 1", "%128", "%129", SAME)
WGMMA(i8, int, int, 128, AS_WORD, "m64n256k32.s32.s8.s8", "", "%128", "%129", SAME)
WGMMA(f16_acc, float, u32, 64, AS_WORD, "m64n256k16.f16.f16.f16", ", 1, 1, 0, 0", "%64", "%65", halves)
#endif

#if PART == 100
// `tcgen05.mma`, of 128 threads a block: blocks * rounds * 16 * 2 * 128 * 256 * K operations. Operands lie as for
// `wgmma`; sums lie in tensor memory, a row a lane. One thread issues; a barrier says when they are there. Nobody waits for
// it for ever: a kernel that gives up has no product.
static __device__ u64 descriptor(u32 address) { return (u64)(address >> 4 & 0x3fff) | 128ull >> 4 << 16 | 256ull >> 4 << 32 | 1ull << 46; }

static __device__ bool is_done(u32 barrier, u32 parity) {
  for (u32 tries = 0; tries < 1u << 20; tries++) {
    u32 done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    if (done) return true;
  }
  return false;
}

#define FOUR(X) X X X X
#define LIST8(I) "=f"(d[I]), "=f"(d[I + 1]), "=f"(d[I + 2]), "=f"(d[I + 3]), "=f"(d[I + 4]), "=f"(d[I + 5]), "=f"(d[I + 6]), "=f"(d[I + 7])

#define TCGEN05(NAME, KIND, FORMAT)                                                                           \
  extern "C" __global__ void __launch_bounds__(128) peak_tcgen05_##NAME(float *out, u32 rounds, u32 one, u32 two) { \
    __shared__ __align__(128) u32 tiles[(128 + 256) * 8];                                                     \
    __shared__ __align__(8) u64 barrier;                                                                      \
    __shared__ u32 sums_at;                                                                                   \
    for (u32 at = threadIdx.x; at < 128 * 8; at += 128)                                                       \
      tiles[at] = row_is_two(at / 64 * 8 + at / 4 % 8) ? two : one;                                           \
    for (u32 at = threadIdx.x; at < 256 * 8; at += 128)                                                       \
      tiles[128 * 8 + at] = column_is_two(at / 64 * 8 + at / 4 % 8) ? two : one;                              \
    const u32 start = (u32)__cvta_generic_to_shared(tiles), arrived = (u32)__cvta_generic_to_shared(&barrier); \
    if (threadIdx.x < 32) {                                                                                   \
      asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 256;" : : "r"((u32)__cvta_generic_to_shared(&sums_at)) : "memory"); \
      asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");                             \
    }                                                                                                         \
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(arrived) : "memory");  \
    asm volatile("fence.proxy.async;\ntcgen05.fence::before_thread_sync;" ::: "memory");                      \
    __syncthreads();                                                                                          \
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");                                           \
    const u32 sums = *(volatile u32 *)&sums_at;                                                               \
    const u64 a = descriptor(start), b = descriptor(start + 128 * 32);                                        \
    const u32 form = 1u << 4 | FORMAT << 7 | FORMAT << 10 | 256u / 8 << 17 | 128u / 16 << 24;                 \
    bool whole = true;                                                                                        \
    for (u32 round = 0; whole && round < rounds; round++) {                                                   \
      if (threadIdx.x == 0)                                                                                   \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0;\n"                                                \
                     "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\nsetp.eq.u32 p, 0, 0;\n"   \
                     FOUR("tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\n")                   \
                     FOUR("tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\n")                   \
                     FOUR("tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\n")                   \
                     "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\n"                         \
                     "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\n"                         \
                     "tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p;\n"                         \
                     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%5]; }"          \
                     : : "r"(sums), "l"(a), "l"(b), "r"(form), "r"(round), "r"(arrived) : "memory");          \
      whole = is_done(arrived, round & 1);                                                                    \
    }                                                                                                         \
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");                                           \
    float sum = 0;                                                                                            \
    for (u32 at = 0; at < 256; at += 8) {                                                                     \
      float d[8];                                                                                             \
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];\n"          \
                   "tcgen05.wait::ld.sync.aligned;" : LIST8(0) : "r"(sums + (threadIdx.x / 32 * 32 << 16) + at) : "memory"); \
      for (int i = 0; i < 8; i++) sum += d[i];                                                                \
    }                                                                                                         \
    out[thread()] = whole ? sum : -1;                                                                         \
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");                                          \
    __syncthreads();                                                                                          \
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" : : "r"(sums)); \
  }

TCGEN05(bf16, "f16", 1u)
TCGEN05(f16, "f16", 0u)
TCGEN05(tf32, "tf32", 2u)
TCGEN05(f8, "f8f6f4", 0u)
#endif
