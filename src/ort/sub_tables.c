/* The tables that entries of the main one give. What is not implemented answers with its name, as there. */
#include "ort/entries_model.h"

typedef void (*OrtFn)(void);

#define STATUS(table, name)                                                                                            \
    static OrtStatus *table##_missing_##name(void)                                                                     \
    {                                                                                                                  \
        return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "%s is not supported by this version of Sardonyx", #name);            \
    }
#define HAVE(table, name)
#define VALUE(table, name)
#define SUB_edit(kind, name) kind(edit, name)
#define SUB_compile(kind, name) kind(compile, name)
#define SUB_interop(kind, name) kind(interop, name)
#define SUB_ep(kind, name) kind(ep, name)
#define SUB_package(kind, name) kind(package, name)
#include "ort/sub_tables.def"
#undef STATUS
#undef HAVE
#undef VALUE

static void *missing_value(void) { return NULL; }

#define HAVE(table, name) (OrtFn) sdx_##table##_##name,
#define STATUS(table, name) (OrtFn) table##_missing_##name,
#define VALUE(table, name) (OrtFn) missing_value,

static const OrtFn edit[] = {
#define SUB_edit(kind, name) kind(edit, name)
#include "ort/sub_tables.def"
};
static const OrtFn compile[] = {
#define SUB_compile(kind, name) kind(compile, name)
#include "ort/sub_tables.def"
};
static const OrtFn interop[] = {
#define SUB_interop(kind, name) kind(interop, name)
#include "ort/sub_tables.def"
};
static const OrtFn ep[] = {
#define SUB_ep(kind, name) kind(ep, name)
#include "ort/sub_tables.def"
};
static const OrtFn package[] = {
#define SUB_package(kind, name) kind(package, name)
#include "ort/sub_tables.def"
};

#define COUNT(a) (sizeof(a) / sizeof *(a))
_Static_assert(COUNT(edit) == 20 && COUNT(compile) == 16 && COUNT(interop) == 13 && COUNT(ep) == 74 &&
                   COUNT(package) == 16,
               "the tables have the published number of entries");

const void *sdx_ort_GetModelEditorApi(void) { return edit; }
const void *sdx_ort_GetCompileApi(void) { return compile; }
const void *sdx_ort_GetInteropApi(void) { return interop; }
const void *sdx_ort_GetEpApi(void) { return ep; }
const void *sdx_ort_GetModelPackageApi(void) { return package; }

/* Training has an interface of its own, and nothing experimental is known by name here. */
const void *sdx_ort_GetTrainingApi(uint32_t version) { return (void)version, NULL; }
void *sdx_ort_GetExperimentalFunction(const char *name) { return (void)name, NULL; }
