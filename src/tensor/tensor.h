/* Tensors: an element type, a shape, and a pointer to elements that somebody else owns.
 *
 * Elements are row-major and contiguous. Types below 8 bits are packed as ONNX packs them (float6: 6-bit stream).
 * A string element is a Str: pointer and length into memory that outlives the tensor (a run's heap, the model, the
 * caller); moving strings therefore moves 16 bytes and owns nothing. What leaves a run is copied with its bytes.
 *
 * A Datum is what flows along an edge at run time: a tensor with an optional owner, a sequence, a map, or nothing (an
 * absent or empty optional value). */
#ifndef SDX_TENSOR_TENSOR_H
#define SDX_TENSOR_TENSOR_H

#include "base/alloc.h"

#define SDX_MAX_RANK 16

typedef enum DType {
    DT_NONE = 0,
#define DTYPE(name, code, bits, text, cls) DT_##name = code,
#include "tensor/dtype.def"
#undef DTYPE
    DT_COUNT = 29
} DType;

/* Sets of element types: one bit each. */
typedef uint32_t DTypeSet;
#define DT_BIT(d) ((DTypeSet)1 << (d))
#define TS_F16 DT_BIT(DT_FLOAT16)
#define TS_BF16 DT_BIT(DT_BFLOAT16)
#define TS_F32 DT_BIT(DT_FLOAT)
#define TS_F64 DT_BIT(DT_DOUBLE)
#define TS_FLT (TS_F16 | TS_F32 | TS_F64) /* ONNX's first three float types */
#define TS_FLTB (TS_FLT | TS_BF16)
#define TS_I8 DT_BIT(DT_INT8)
#define TS_I16 DT_BIT(DT_INT16)
#define TS_I32 DT_BIT(DT_INT32)
#define TS_I64 DT_BIT(DT_INT64)
#define TS_U8 DT_BIT(DT_UINT8)
#define TS_U16 DT_BIT(DT_UINT16)
#define TS_U32 DT_BIT(DT_UINT32)
#define TS_U64 DT_BIT(DT_UINT64)
#define TS_SINT (TS_I8 | TS_I16 | TS_I32 | TS_I64)
#define TS_UINT (TS_U8 | TS_U16 | TS_U32 | TS_U64)
#define TS_INT (TS_SINT | TS_UINT)
#define TS_NUM (TS_FLT | TS_INT)
#define TS_NUMB (TS_NUM | TS_BF16)
#define TS_BOOL DT_BIT(DT_BOOL)
#define TS_STR DT_BIT(DT_STRING)
#define TS_CPX (DT_BIT(DT_COMPLEX64) | DT_BIT(DT_COMPLEX128))
#define TS_F8 (DT_BIT(DT_FLOAT8E4M3FN) | DT_BIT(DT_FLOAT8E4M3FNUZ) | DT_BIT(DT_FLOAT8E5M2) | DT_BIT(DT_FLOAT8E5M2FNUZ))
#define TS_E8M0 DT_BIT(DT_FLOAT8E8M0)
#define TS_F4 DT_BIT(DT_FLOAT4E2M1)
#define TS_F6 (DT_BIT(DT_FLOAT6E2M3) | DT_BIT(DT_FLOAT6E3M2))
#define TS_INT4 (DT_BIT(DT_UINT4) | DT_BIT(DT_INT4))
#define TS_INT2 (DT_BIT(DT_UINT2) | DT_BIT(DT_INT2))
#define TS_IDX (TS_I32 | TS_I64)
#define TS_BASIC (TS_NUM | TS_BOOL | TS_STR | TS_CPX) /* ONNX's "all tensor types" of opset 1 */
#define TS_ALL ((DTypeSet)0x1ffffffe)

int sdx_dtype_bits(DType d);                        /* 0 for an unknown code */
const char *sdx_dtype_name(DType d);                /* ONNX's text name; "undefined" */
DType sdx_dtype_from_name(const char *s, size_t n); /* DT_NONE when unknown */
char sdx_dtype_class(DType d);                      /* the letter of dtype.def; 0 for an unknown code */
static inline bool sdx_dtype_is_valid(int d) { return d > 0 && d < DT_COUNT; }
static inline bool sdx_dtype_in(DType d, DTypeSet set) { return (set >> d) & 1; }
/* Bytes of one element; 0 for types that share bytes. */
static inline size_t sdx_dtype_size(DType d) { return (size_t)sdx_dtype_bits(d) / 8; }
/* Bytes of n elements, packed; false when it overflows. */
bool sdx_dtype_nbytes(DType d, int64_t n, size_t *nbytes);

typedef struct Str {
    const char *p; /* not NUL-terminated, any bytes */
    size_t n;
} Str;

typedef struct Tensor {
    DType dtype;
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    void *data; /* NULL in shape-only uses and when there are no elements */
} Tensor;

/* Product of dims[from..to), 1 for none. The caller has checked the tensor with sdx_shape_count. */
int64_t sdx_dims_product(const int64_t *dims, int from, int to);
static inline int64_t sdx_tensor_count(const Tensor *t) { return sdx_dims_product(t->dims, 0, t->rank); }
/* Checked: false when a dim is negative, or the count or byte size overflows. */
bool sdx_shape_count(const int64_t *dims, int rank, int64_t *count);
bool sdx_tensor_nbytes(const Tensor *t, size_t *nbytes);
bool sdx_tensor_is_aligned(const Tensor *t); /* its data, for its element type */
bool sdx_dims_equal(const int64_t *a, int a_rank, const int64_t *b, int b_rank);
/* "[2,3]" into buf, always terminated; returns buf. */
char *sdx_dims_text(char *buf, size_t size, const int64_t *dims, int rank);

/* Reads element i of an integer, bool or float tensor as int64 (truncating) or double. */
int64_t sdx_tensor_get_int(const Tensor *t, int64_t i);
double sdx_tensor_get_double(const Tensor *t, int64_t i);
void sdx_tensor_set_double(Tensor *t, int64_t i, double v);

typedef enum DatumKind { DATUM_NONE, DATUM_TENSOR, DATUM_SEQUENCE, DATUM_MAP, DATUM_SPARSE } DatumKind;

typedef struct Seq Seq;
typedef struct Map Map;
typedef struct Sparse Sparse;

typedef struct Datum {
    DatumKind kind;
    Tensor t; /* DATUM_TENSOR */
    Buf *buf; /* owns t.data (and string bytes) when not NULL; borrowed otherwise */
    union {
        Seq *seq;
        Map *map;
        Sparse *sparse;
    };
} Datum;

/* A reference-counted list. Shared ones are not modified: sdx_seq_own makes a private copy first. */
struct Seq {
    int refs; /* atomic */
    const Alloc *alloc;
    DType elem; /* element type of the tensors inside; DT_NONE when unknown */
    int64_t n, cap;
    Datum *items; /* each owns its content */
};

/* Reference-counted: key i belongs to value i. */
struct Map {
    int refs;
    const Alloc *alloc;
    Datum keys;   /* 1-D tensor, integer or string */
    Datum values; /* 1-D tensor, or a sequence of as many elements */
};

/* COO: indices [nnz] linear or [nnz, rank]. */
struct Sparse {
    int refs;
    const Alloc *alloc;
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    Datum values, indices;
};

void sdx_datum_clear(Datum *d); /* releases what it owns; leaves DATUM_NONE */
/* dst (empty) shares src's content; a borrowed tensor is copied to a buffer of its own, string bytes included. */
sdx_status sdx_datum_share(Datum *dst, const Datum *src, const Alloc *a, Err *err);
/* A tensor of its own, uninitialised (strings: all empty). Fails with LIMIT/OUT_OF_MEMORY or on a bad shape. */
sdx_status sdx_datum_tensor(Datum *d, const Alloc *a, DType dtype, int rank, const int64_t *dims, Err *err);
/* Deep copy of a tensor into a buffer of its own, string bytes included. */
sdx_status sdx_datum_copy(Datum *dst, const Tensor *src, const Alloc *a, Err *err);

Seq *sdx_seq_new(const Alloc *a, DType elem);
sdx_status sdx_seq_own(Datum *d, Err *err); /* d holds a sequence nobody else can see afterwards */
sdx_status sdx_seq_insert(Seq *s, int64_t at, const Datum *item, Err *err); /* shares item */
Map *sdx_map_new(const Alloc *a);
Sparse *sdx_sparse_new(const Alloc *a);

#endif
