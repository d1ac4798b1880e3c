#define _GNU_SOURCE /* dladdr */
#include "base/guard.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The frame, and where it goes on when an exception is stopped: there the first register holds the exception. The names
 * of both are the assembler's. */
#if defined(__x86_64__) && defined(__ELF__)
#define HAS_GUARD 1
__asm__(".pushsection .text\n"
        ".type sdx_guard_frame, @function\n"
        "sdx_guard_frame:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, sdx_guard_personality\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "call *%rax\n"
        "xor %eax, %eax\n"
        "sdx_guard_landing:\n"
        "pop %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size sdx_guard_frame, .-sdx_guard_frame\n"
        ".popsection\n");
#elif defined(__aarch64__) && defined(__ELF__)
#define HAS_GUARD 1
__asm__(".pushsection .text\n"
        ".type sdx_guard_frame, %function\n"
        "sdx_guard_frame:\n"
        ".cfi_startproc\n"
        ".cfi_personality 0x1b, sdx_guard_personality\n"
        "stp x29, x30, [sp, -16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "mov x29, sp\n"
        "mov x2, x0\n"
        "mov x0, x1\n"
        "blr x2\n"
        "mov x0, 0\n"
        "sdx_guard_landing:\n"
        "ldp x29, x30, [sp], 16\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size sdx_guard_frame, .-sdx_guard_frame\n"
        ".popsection\n");
#else
#define HAS_GUARD 0
#endif

#if HAS_GUARD

/* Itanium C++ ABI, level 1: what the unwinder and we tell each other. */
typedef struct Exception {
    uint64_t kind; /* "GNUCC++" or "CLNGC++" and 0; 1 for one that refers to another's object */
    void (*cleanup)(int reason, struct Exception *e);
    uintptr_t private[2];
} Exception; /* of a C++ runtime: the object follows */
enum { ACTION_SEARCH = 1, ACTION_HANDLER = 4, ACTION_FORCED = 8 };
enum { REASON_FOREIGN = 1, REASON_FOUND = 6, REASON_INSTALL = 7, REASON_CONTINUE = 8 };

Exception *sdx_guard_frame(void (*fn)(void *arg), void *arg);
extern const char sdx_guard_landing[];
int sdx_guard_personality(int version, int actions, uint64_t kind, Exception *e, void *context);

typedef void (*SetRegister)(void *context, int number, uintptr_t value);
typedef void (*SetAddress)(void *context, uintptr_t value);

/* A function of the library that holds the address `inside`. */
static void *sibling(const void *inside, const char *name)
{
    Dl_info info;
    void *lib = dladdr(inside, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = lib ? dlsym(lib, name) : NULL;
    if (lib) dlclose(lib); /* it stays: it is running */
    return found;
}

/* Called by the unwinder for the frame above; used by name only. */
__attribute__((used)) int sdx_guard_personality(int version, int actions, uint64_t kind, Exception *e, void *context)
{
    SetRegister set_register;
    SetAddress set_address;
    (void)version, (void)kind;
    if (actions & ACTION_FORCED) return REASON_CONTINUE; /* a thread that is being cancelled */
    void *unwinder = __builtin_return_address(0);
    void *a = sibling(unwinder, "_Unwind_SetGR"), *b = sibling(unwinder, "_Unwind_SetIP");
    if (!a || !b) return REASON_CONTINUE;
    if (actions & ACTION_SEARCH) return REASON_FOUND;
    if (!(actions & ACTION_HANDLER)) return REASON_CONTINUE;
    memcpy(&set_register, &a, sizeof a);
    memcpy(&set_address, &b, sizeof b);
    set_register(context, 0, (uintptr_t)e);
    set_address(context, (uintptr_t)sdx_guard_landing);
    return REASON_INSTALL;
}

/* The runtime's own functions, found where the exception's cleanup is. */
typedef void *(*BeginCatch)(void *e);
typedef void (*EndCatch)(void);
typedef const void *(*CurrentType)(void);
typedef bool (*DoCatch)(const void *type, const void *thrown, void **object, unsigned outer);
typedef const char *(*What)(const void *object);

/* Entry i of the virtual table of a C++ object. */
static void virtual_entry(const void *object, int i, void *fn)
{
    void *const *table = *(void *const *const *)object;
    memcpy(fn, &table[i], sizeof table[i]);
}

/* what() of a std::exception, else the name of the type. Positions in virtual tables: Itanium C++ ABI 2.9.5 for
 * type_info's, the order of declaration for std::exception's. */
static void describe(void *object, const void *type, const void *std_exception, char *text, size_t size)
{
    enum { DO_CATCH = 4, WHAT = 2 };
    DoCatch do_catch;
    What what;
    snprintf(text, size, "an exception of a type that is not known");
    if (!type || !std_exception) return;
    snprintf(text, size, "an exception of type %s", ((const char *const *)type)[1]);
    virtual_entry(std_exception, DO_CATCH, &do_catch);
    if (!do_catch(std_exception, type, &object, 1)) return;
    virtual_entry(object, WHAT, &what);
    snprintf(text, size, "%s", what(object));
}

static void finish(Exception *e, char *text, size_t size)
{
    BeginCatch begin;
    EndCatch end;
    CurrentType current;
    void *inside;
    memcpy(&inside, &e->cleanup, sizeof inside);
    void *a = sibling(inside, "__cxa_begin_catch"), *b = sibling(inside, "__cxa_end_catch");
    void *c = sibling(inside, "__cxa_current_exception_type");
    if (!a || !b || !c) {
        snprintf(text, size, "a foreign exception");
        if (e->cleanup) e->cleanup(REASON_FOREIGN, e);
        return;
    }
    memcpy(&begin, &a, sizeof a);
    memcpy(&end, &b, sizeof b);
    memcpy(&current, &c, sizeof c);
    const void *std_exception = (e->kind & 0xff) == 0 ? sibling(inside, "_ZTISt9exception") : NULL;
    begin(e);
    describe(e + 1, current(), std_exception, text, size);
    end();
}

bool sdx_guard_call(void (*fn)(void *arg), void *arg, char *text, size_t size)
{
    Exception *e = sdx_guard_frame(fn, arg);
    if (!e) return true;
    finish(e, text, size);
    return false;
}

#else

bool sdx_guard_call(void (*fn)(void *arg), void *arg, char *text, size_t size)
{
    (void)text, (void)size;
    fn(arg);
    return true;
}

#endif
