/* Shared libraries of ours that need not be there: found beside the code that asks, or where the system looks. */
#ifndef SDX_BASE_MODULE_H
#define SDX_BASE_MODULE_H

typedef void ModuleSymbol(void);

/* Symbol of the library `file`, which stays loaded from then on. NULL when either is not there. */
ModuleSymbol *sdx_module_symbol(const char *file, const char *symbol);

#endif
