// Fingerprints of tensors, block by block, as `trueno_recorder::fingerprint` defines them.
//
// A block is 8 KiB of elements in logical order; eight threads share one, so that a warp has four. What a block
// contributes (`Partial`) depends on its elements and its number alone: any grid gives the same bits. Blocks of
// threads must be whole warps. No shared memory, no atomics, nothing to be zeroed first.
//
// `generate.py` beside this file makes the PTX of it.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

// What is stored: bits; what is compared: values; what is added: f64.
struct F16 { u16 bits; };
struct Bf16 { u16 bits; };

template <class T> struct Kind;
#define NUMBER(T, LOW, HIGH)                                                        \
  template <> struct Kind<T> {                                                      \
    typedef T Value;                                                                \
    static __device__ T value(T bits) { return bits; }                              \
    static __device__ u64 raw(T bits) { return (u64)bits & (~0ull >> (64 - 8 * sizeof(T))); } \
    static __device__ bool nan(T) { return false; }                                 \
    static __device__ bool inf(T) { return false; }                                 \
    static __device__ T lowest() { return LOW; }                                    \
    static __device__ T highest() { return HIGH; }                                  \
    static __device__ double wide(T value) { return (double)value; }                \
  };
NUMBER(i8, -128, 127)
NUMBER(u8, 0, 255)
NUMBER(i16, -32768, 32767)
NUMBER(u16, 0, 65535)
NUMBER(i32, (-2147483647 - 1), 2147483647)
NUMBER(u32, 0u, 4294967295u)
NUMBER(i64, (-9223372036854775807ll - 1), 9223372036854775807ll)
NUMBER(u64, 0ull, 18446744073709551615ull)

static __device__ float infinity() { return __int_as_float(0x7f800000); }

#define FLOAT(T, V, RAW, VALUE)                                                     \
  template <> struct Kind<T> {                                                      \
    typedef V Value;                                                                \
    static __device__ V value(T bits) { return VALUE; }                             \
    static __device__ u64 raw(T bits) { return RAW; }                               \
    static __device__ bool nan(V value) { return value != value; }                  \
    static __device__ bool inf(V value) { return value == infinity() || value == -infinity(); } \
    static __device__ V lowest() { return -infinity(); }                            \
    static __device__ V highest() { return infinity(); }                            \
    static __device__ double wide(V value) { return (double)value; }                \
  };

static __device__ float widened(u16 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

FLOAT(float, float, (u64)__float_as_uint(bits), bits)
FLOAT(double, double, (u64)__double_as_longlong(bits), bits)
FLOAT(F16, float, (u64)bits.bits, widened(bits.bits))
FLOAT(Bf16, float, (u64)bits.bits, __uint_as_float((u32)bits.bits << 16))

static __device__ u64 mix(u64 z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

static const u64 K = 0x9E3779B97F4A7C15ull;
enum { BLOCK_BYTES = 8192, LANES = 8, HEAD = 64, SAMPLES = 16 };

// 72 bytes; `recorder/cuda/src/checksum` has the same.
struct Partial {
  u64 even, odd;
  double sum, squares, min, max;
  u64 nan, inf, zero;
};

// Of a strided tensor: the sizes and, in elements, strides of its dimensions, the last of which runs fastest.
struct Layout {
  u64 dimensions;
  u64 lengths[8];
  u64 strides[8];
};

struct Contiguous {
  static const bool dense = true;
  __device__ u64 place(u64 at) const { return at; }
};

struct Strided {
  static const bool dense = false;
  const Layout &layout;
  __device__ u64 place(u64 at) const {
    u64 place = 0;
#pragma unroll 1
    for (u64 nth = layout.dimensions; nth > 0; nth--) {
      u64 length = layout.lengths[nth - 1];
      place += at % length * layout.strides[nth - 1];
      at /= length;
    }
    return place;
  }
};

static __device__ double down(double value, int step) { return __shfl_down_sync(0xffffffffu, value, step); }
static __device__ u64 down(u64 value, int step) { return __shfl_down_sync(0xffffffffu, value, step); }

// Adds what `step` lanes on has, if there is anything.
static __device__ void join(Partial &of, int step, bool there) {
  Partial other;
  other.even = down(of.even, step), other.odd = down(of.odd, step);
  other.sum = down(of.sum, step), other.squares = down(of.squares, step);
  other.min = down(of.min, step), other.max = down(of.max, step);
  other.nan = down(of.nan, step), other.inf = down(of.inf, step), other.zero = down(of.zero, step);
  if (there) {
    of.even += other.even, of.odd += other.odd;
    of.sum = __dadd_rn(of.sum, other.sum), of.squares = __dadd_rn(of.squares, other.squares);
    of.min = other.min < of.min ? other.min : of.min;
    of.max = other.max > of.max ? other.max : of.max;
    of.nan += other.nan, of.inf += other.inf, of.zero += other.zero;
  }
}

template <class T> struct Sums {
  typedef Kind<T> K_;
  double sum, squares;
  typename K_::Value min, max;
  u32 nan, inf, zero, finite;

  __device__ Sums() : sum(0), squares(0), min(K_::highest()), max(K_::lowest()), nan(0), inf(0), zero(0), finite(0) {}

  __device__ void take(T bits) {
    typename K_::Value value = K_::value(bits);
    bool is_nan = K_::nan(value), is_inf = K_::inf(value), counts = !is_nan && !is_inf;
    nan += is_nan, inf += is_inf, finite += counts;
    zero += value == 0;
    if (counts) {
      double kept = K_::wide(value);
      min = value < min ? value : min;
      max = value > max ? value : max;
      sum = __dadd_rn(sum, kept);
      squares = __dadd_rn(squares, __dmul_rn(kept, kept));
    }
  }
};

template <class T, class Where>
static __device__ void fingerprint(Partial *out, u64 *head, const T *data, u64 elements, Where where) {
  const u64 per_block = BLOCK_BYTES / sizeof(T), per_word = 8 / sizeof(T);
  const u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = gridDim.x * (u64)blockDim.x;
  const u64 blocks = elements / per_block + (elements % per_block != 0);
  const u32 lane = threadIdx.x % LANES;
  const bool aligned = Where::dense && ((u64)data & 7) == 0;
  for (u64 first = thread / 32 * 4; first < blocks; first += threads / 32 * 4) {
    const u64 block = first + threadIdx.x % 32 / LANES;
    const u64 start = block * per_block;
    const u64 end = block >= blocks ? start : elements - start < per_block ? elements : start + per_block;
    Sums<T> sums;
    u64 hash = 0, word_number = block * (BLOCK_BYTES / 8) + lane;
    // 64 bytes at a time: each of the eight threads has a word of them, and each eighth element.
    for (u64 chunk = start; chunk < end; chunk += LANES * per_word, word_number += LANES) {
      const u64 from = chunk + lane * per_word;
      u64 word = 0;
      if (aligned && from + per_word <= end) {
        word = ((const u64 *)data)[word_number];
      } else {
#pragma unroll 1
        for (u64 nth = 0; nth < per_word; nth++)
          if (from + nth < end) word |= Kind<T>::raw(data[where.place(from + nth)]) << (nth * 8 * sizeof(T) & 63);
      }
      if (from < end) hash += mix(word + (2 * word_number + 1) * K);
#pragma unroll (Where::dense ? 8 : 1)
      for (u64 nth = 0; nth < per_word; nth++) {
        const u64 at = chunk + lane + nth * LANES;
        if (at < end) sums.take(data[where.place(at)]);
      }
    }
    Partial partial;
    partial.even = lane & 1 ? 0 : hash, partial.odd = lane & 1 ? hash : 0;
    partial.sum = sums.sum, partial.squares = sums.squares;
    partial.min = sums.finite ? Kind<T>::wide(sums.min) : (double)infinity();
    partial.max = sums.finite ? Kind<T>::wide(sums.max) : -(double)infinity();
    partial.nan = sums.nan, partial.inf = sums.inf, partial.zero = sums.zero;
#pragma unroll
    for (int step = 1; step < LANES; step *= 2) join(partial, step, true);
    if (lane == 0 && block < blocks) out[block] = partial;
  }
  // The bits of the first elements, and values of some.
  for (u64 at = thread; at < HEAD + SAMPLES; at += threads) {
    if (at < HEAD) {
      if (at < elements) head[at] = Kind<T>::raw(data[where.place(at)]);
    } else {
      u64 nth = at - HEAD;
      u64 place = elements <= SAMPLES ? nth : __umul64hi(mix((nth + 1) * K), elements);
      if (place < elements)
        head[at] = (u64)__double_as_longlong(Kind<T>::wide(Kind<T>::value(data[where.place(place)])));
    }
  }
}

#ifdef STRIDED
#define KERNELS(NAME, T)                                                                                           \
  extern "C" __global__ void strided_##NAME(Partial *out, u64 *head, const T *data, u64 elements, const Layout layout) { \
    fingerprint<T>(out, head, data, elements, Strided{layout});                                                    \
  }
#else
#define KERNELS(NAME, T)                                                                                           \
  extern "C" __global__ void fingerprint_##NAME(Partial *out, u64 *head, const T *data, u64 elements) {            \
    fingerprint<T>(out, head, data, elements, Contiguous());                                                       \
  }
#endif

KERNELS(f32, float)
KERNELS(f64, double)
KERNELS(f16, F16)
KERNELS(bf16, Bf16)
KERNELS(i8, i8)
KERNELS(i16, i16)
KERNELS(i32, i32)
KERNELS(i64, i64)
KERNELS(u8, u8)
KERNELS(u16, u16)
KERNELS(u32, u32)
KERNELS(u64, u64)

#ifndef STRIDED
// Each 32 partials become one, as a tree of neighbours.
extern "C" __global__ void fold(Partial *out, const Partial *in, u64 count) {
  const u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x, threads = gridDim.x * (u64)blockDim.x;
  const u32 lane = threadIdx.x % 32;
  for (u64 first = thread - lane; first < count; first += threads) {
    const u64 here = count - first < 32 ? count - first : 32;
    Partial partial = {0, 0, 0, 0, (double)infinity(), -(double)infinity(), 0, 0, 0};
    if (lane < here) partial = in[first + lane];
#pragma unroll
    for (int step = 1; step < 32; step *= 2) join(partial, step, lane % (2 * step) == 0 && lane + step < here);
    if (lane == 0) out[first / 32] = partial;
  }
}
#endif
