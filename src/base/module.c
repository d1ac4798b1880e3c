#define _GNU_SOURCE /* dladdr */
#include "base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Beside this code, one folder up (the build tree) and in the lib next to a bin; then the system's own way. */
static void *module_open(const char *file)
{
    static const char *const places[] = { "", "../", "../lib/" };
    Dl_info self;
    char path[1024];
    const char *slash = dladdr((void *)(size_t)module_open, &self) ? strrchr(self.dli_fname, '/') : NULL;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        int folder = (int)(slash + 1 - self.dli_fname);
        int n = snprintf(path, sizeof path, "%.*s%s%s", folder, self.dli_fname, places[i], file);
        void *lib = n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (lib) return lib;
    }
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

ModuleSymbol *sdx_module_symbol(const char *file, const char *symbol)
{
    void *lib = module_open(file);
    void *found = lib ? dlsym(lib, symbol) : NULL;
    ModuleSymbol *out = NULL;
    memcpy(&out, &found, sizeof out); /* ISO C has no cast from data to code */
    return out;
}
