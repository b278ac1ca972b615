// Quantisation, compression, hashing. Labels were proven with -DEXPERIMENT.

#include <cuda_fp16.h>

#ifdef EXPERIMENT
#define AT(run_time, constant) (constant)
#define ROLLED _Pragma("unroll")
#else
#define AT(run_time, constant) (run_time)
#define ROLLED _Pragma("unroll 1")
#endif

/* labels
[[find]]
cause = "const-table"
object = "level"
type = "const float[16]"
size = 64
declared = "level"
lines = ["level", "level_use"]
primary = ["level_use"]
index = ["[nibble]"]
sources = ["memory packed"]
optional = ["loop-counter constant"]
uniformity = "data-dependent"
*/
extern "C" __global__ void nf4_literals(const unsigned *packed, float *out, const float *scale) {
  const float level[16] = {-1.0f, -0.6962f, -0.5251f, -0.3949f, -0.2844f, -0.1848f, -0.0911f, 0.0f, 0.0796f, 0.1609f, 0.2461f, 0.3379f, 0.4407f, 0.5626f, 0.723f, 1.0f};  //@level
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 8; ++k) {
    const int nibble = AT(packed[i] >> (4 * k) & 15, k);
    out[i * 8 + k] = level[nibble] * scale[i / 8];  //@level_use
  }
}

/* labels
[[find]]
cause = "const-table"
object = "code"
type = "float[24]"
size = 96
declared = "code"
lines = ["code_build", "code_use"]
primary = ["code_use"]
index = ["[symbol]"]
sources = ["memory packed"]
uniformity = "data-dependent"
*/
extern "C" __global__ void dequantise_quadratic(const unsigned char *packed, float *out, float scale, int n) {
  float code[24];  //@code
#pragma unroll
  for (int k = 0; k < 24; ++k) code[k] = (k - 11.5f) * (k - 11.5f) * (k < 12 ? -0.01f : 0.01f);  //@code_build
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int symbol = AT(packed[i] % 24, 8);
    out[i] = code[symbol] * scale;  //@code_use
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "quants"
type = "signed char[32]"
size = 32
declared = "quants"
lines = ["quants_round", "quants_pack"]
primary = ["quants_rounding", "quants_packing"]
index = ["[k]", "[4 * w + b]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
*/
extern "C" __global__ void quantise_block(const float *x, float *scales, int *words) {
  signed char quants[32];  //@quants
  const float *in = x + (blockIdx.x * blockDim.x + threadIdx.x) * 32;
  float largest = 0.0f;
  for (int k = 0; k < 32; ++k) largest = fmaxf(largest, fabsf(in[k]));
  const float scale = largest / 127.0f;
  ROLLED
  for (int k = 0; k < 32; ++k)                                //@quants_rounding
    quants[k] = (signed char)__float2int_rn(in[k] / scale);  //@quants_round
  int *to = words + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  ROLLED
  for (int w = 0; w < 8; ++w) {  //@quants_packing
    int word = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) word |= (quants[4 * w + b] & 255) << (8 * b);  //@quants_pack
    to[w] = word;
  }
  scales[blockIdx.x * blockDim.x + threadIdx.x] = scale;
}

/* labels
[[find]]
cause = "dynamic-index"
object = "literal"
type = "unsigned char[128]"
size = 128
declared = "literal"
lines = ["literal_put", "literal_flush"]
primary = ["literal_put", "literal_flush"]
index = ["[slot]", "[k]"]
sources = ["memory in", "loop-counter run-time"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void run_length(const unsigned char *in, unsigned char *out, int n) {
  unsigned char literal[128];  //@literal
  const unsigned char *row = in + (blockIdx.x * blockDim.x + threadIdx.x) * n;
  unsigned char *to = out + (blockIdx.x * blockDim.x + threadIdx.x) * 2 * n;
  int literals = 0, run = 1;
#pragma unroll 1
  for (int i = 1; i < n; ++i) {
    if (row[i] == row[i - 1] && run < 127) {
      ++run;
      continue;
    }
    if (run == 1 && literals < 127) {
      const int slot = AT(literals, 9);
      literal[slot] = row[i - 1];  //@literal_put
      ++literals;
    } else {
      *to++ = literals;
#ifdef EXPERIMENT
      *to++ = literal[9];
#else
#pragma unroll 1
      for (int k = 0; k < literals; ++k) *to++ = literal[k];  //@literal_flush
#endif
      *to++ = 128 + run;
      *to++ = row[i - 1];
      literals = 0;
    }
    run = 1;
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "last"
type = "unsigned short[256]"
size = 512
declared = "last"
lines = ["last_clear", "last_seen", "last_keep"]
primary = ["last_seen", "last_keep"]
index = ["[hash]"]
sources = ["memory text"]
uniformity = "data-dependent"
*/
extern "C" __global__ void lz_matches(const unsigned char *text, int *lengths, int n) {
  unsigned short last[256];  //@last
#pragma unroll
  for (int h = 0; h < 256; ++h) last[h] = 0;  //@last_clear
  const unsigned char *from = text + (blockIdx.x * blockDim.x + threadIdx.x) * n;
#pragma unroll 1
  for (int i = 0; i < n - 3; ++i) {
    const unsigned word = from[i] | from[i + 1] << 8 | from[i + 2] << 16;
    const unsigned hash = AT((word * 2654435761u) >> 24, 77);
    const int candidate = last[hash];  //@last_seen
    last[hash] = i;                    //@last_keep
    int length = 0;
    while (i + length < n && from[candidate + length] == from[i + length]) ++length;
    lengths[(blockIdx.x * blockDim.x + threadIdx.x) * n + i] = length;
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "history"
type = "unsigned char[2048]"
size = 2048
declared = "history"
lines = ["history_literal", "history_from", "history_copy"]
primary = ["history_literal", "history_from", "history_copy"]
index = ["[at & 2047]", "[(at - distance) & 2047]"]
sources = ["memory codes", "loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void lz_decode(const uint2 *codes, unsigned char *out, int n) {
  unsigned char history[2048];  //@history
  const uint2 *code = codes + (blockIdx.x * blockDim.x + threadIdx.x) * n;
  unsigned at = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned distance = code[i].x, length = code[i].y;
#ifdef EXPERIMENT
    history[5] = (unsigned char)(length + history[7]);
    history[7] = (unsigned char)(distance);
    at += length;
    out[at] = history[5];
#else
    if (distance == 0) {
      history[at & 2047] = (unsigned char)length;  //@history_literal
      out[at++] = (unsigned char)length;
    } else {
#pragma unroll 1
      for (unsigned k = 0; k < length; ++k, ++at) {
        const unsigned char c = history[(at - distance) & 2047];  //@history_from
        history[at & 2047] = c;                                   //@history_copy
        out[at] = c;
      }
    }
#endif
  }
}

/* labels
[[find]]
cause = "rolled-loop"
object = "first"
type = "short[16]"
size = 32
declared = "first"
lines = ["first_load", "first_test"]
primary = ["code_lengths", "code_loop"]
index = ["[length]"]
sources = ["loop-counter constant"]
uniformity = "uniform"
[[find]]
cause = "dynamic-index"
object = "offset"
type = "int[16]"
size = 64
declared = "offset"
lines = ["offset_load", "offset_symbol"]
primary = ["offset_symbol"]
index = ["[found]"]
sources = ["loop-counter constant", "memory bits", "memory first"]
uniformity = "data-dependent"
*/
extern "C" __global__ void huffman_decode(const unsigned *bits, const short *firsts, const int *offsets,
                                          const unsigned char *symbols, unsigned char *out, int n) {
  short first[16];  //@first
  int offset[16];   //@offset
  ROLLED
  for (int length = 1; length < 16; ++length) {         //@code_lengths
    first[length] = firsts[length * 32 + threadIdx.x];  //@first_load
    offset[length] = offsets[length * 32 + threadIdx.x];  //@offset_load
  }
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned word = bits[i * 32 + threadIdx.x];
    int found = AT(15, 4);
    ROLLED
    for (int length = 1; length < 16; ++length) {  //@code_loop
      if ((int)(word >> (32 - length)) < first[length]) {  //@first_test
#ifndef EXPERIMENT
        found = length;
        break;
#else
        out[i] = 1;
#endif
      }
    }
    out[i * 32 + threadIdx.x] = symbols[offset[found] + (word >> (32 - found))];  //@offset_symbol
  }
}

/* labels
[[find]]
cause = "dynamic-index"
object = "recency"
type = "unsigned char[64]"
size = 64
declared = "recency"
lines = ["recency_start", "recency_find", "recency_shift", "recency_front"]
primary = ["recency_find", "recency_shift"]
index = ["[rank]", "[k]", "[k - 1]"]
sources = ["loop-counter run-time", "memory in", "memory recency"]
uniformity = ["data-dependent", "uniform"]
*/
extern "C" __global__ void move_to_front(const unsigned char *in, unsigned char *out, int n) {
  unsigned char recency[64];  //@recency
#pragma unroll
  for (int s = 0; s < 64; ++s) recency[s] = s;  //@recency_start
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned char symbol = in[i * 32 + threadIdx.x] & 63;
    int rank = 0;
#ifndef EXPERIMENT
#pragma unroll 1
    while (recency[rank] != symbol) ++rank;  //@recency_find
#pragma unroll 1
    for (int k = rank; k > 0; --k) recency[k] = recency[k - 1];  //@recency_shift
#endif
    recency[0] = symbol;  //@recency_front
    out[i * 32 + threadIdx.x] = rank;
  }
}

/* labels
[[find]]
cause = "const-table"
object = "crc_table"
type = "unsigned int[32]"
size = 128
declared = "crc_table"
lines = ["crc_build", "crc_step"]
primary = ["crc_step"]
index = ["[index]"]
sources = ["memory data", "memory crc_table"]
optional = ["loop-counter run-time"]
uniformity = "data-dependent"
*/
extern "C" __global__ void crc_by_nibbles(const unsigned char *data, unsigned *crcs, int n) {
  unsigned crc_table[32];  //@crc_table
#pragma unroll
  for (unsigned b = 0; b < 32; ++b) {
    unsigned r = b << 3;
#pragma unroll
    for (int bit = 0; bit < 5; ++bit) r = r & 1 ? (r >> 1) ^ 0xedb88320u : r >> 1;
    crc_table[b] = r;  //@crc_build
  }
  const unsigned char *row = data + (blockIdx.x * blockDim.x + threadIdx.x) * n;
  unsigned crc = ~0u;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const unsigned index = AT((crc ^ row[i]) & 31, 19);
    crc = (crc >> 5) ^ crc_table[index];  //@crc_step
  }
  crcs[blockIdx.x * blockDim.x + threadIdx.x] = ~crc;
}

struct Key {
  unsigned char bytes[40];
  int length;
};

/* labels
[[find]]
cause = "dynamic-index"
object = "sbox"
type = "unsigned char[256]"
size = 256
declared = "sbox"
lines = ["sbox_start", "sbox_i", "sbox_j", "sbox_put_i", "sbox_put_j", "sbox_out"]
primary = ["sbox_i", "sbox_j", "sbox_put_i", "sbox_put_j", "sbox_out"]
index = ["[i]", "[j]", "[pick]"]
sources = ["loop-counter constant", "memory sbox", "parameter key", "block-id blockIdx.x"]
uniformity = "uniform"
*/
extern "C" __global__ void rc4_schedule(const __grid_constant__ Key key, unsigned char *out) {
  unsigned char sbox[256];  //@sbox
#pragma unroll
  for (int i = 0; i < 256; ++i) sbox[i] = i;  //@sbox_start
  unsigned j = blockIdx.x & 255;
#ifndef EXPERIMENT
#pragma unroll 1
  for (int i = 0; i < 256; ++i) {
    const unsigned char si = sbox[i];  //@sbox_i
    j = (j + si + key.bytes[i % key.length]) & 255;
    const unsigned char sj = sbox[j];  //@sbox_j
    sbox[i] = sj;                      //@sbox_put_i
    sbox[j] = si;                      //@sbox_put_j
  }
#endif
  const unsigned pick = AT(j ^ 21, 200);
  out[blockIdx.x * 32 + threadIdx.x] = sbox[pick];  //@sbox_out
}

/* labels
[[find]]
cause = "param-copy"
object = "key.bytes"
type = "unsigned char[40]"
size = 40
declared = "whiten"
lines = ["whiten", "whiten_mix", "whiten_use"]
primary = ["whiten_mix", "whiten_use"]
index = ["[at]", "[last]"]
sources = ["loop-counter run-time", "memory salt"]
uniformity = ["uniform", "data-dependent"]
*/
extern "C" __global__ void whiten(Key key, const unsigned char *salt, unsigned char *out, int n) {  //@whiten
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    const int at = AT((salt[i] + i) % 40, 3);
    key.bytes[at] ^= salt[i];  //@whiten_mix
  }
  const int last = AT(salt[n + threadIdx.x] % 40, 3);
  out[threadIdx.x] = key.bytes[last];  //@whiten_use
}

/* labels
[[find]]
cause = "dynamic-index"
object = "centroid"
type = "__half[48]"
size = 96
declared = "centroid"
lines = ["centroid_load", "centroid_use"]
primary = ["centroid_use"]
index = ["[choice]"]
sources = ["memory indices"]
uniformity = "data-dependent"
*/
extern "C" __global__ void vector_codebook(const __half *book, const unsigned *indices, __half *out, int n) {
  __half centroid[48];  //@centroid
#pragma unroll
  for (int k = 0; k < 48; ++k) centroid[k] = book[blockIdx.x * 48 + k];  //@centroid_load
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const unsigned choice = AT(__umulhi(indices[i], 48u), 31);
    out[i] = centroid[choice];  //@centroid_use
  }
}
