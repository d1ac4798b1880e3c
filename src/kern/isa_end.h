/* kern/isa_end.h - ends what kern/isa_begin.h began. */
#ifdef __clang__
#ifdef ISA_TARGET
#pragma clang attribute pop
#endif
#else
#pragma GCC pop_options
#endif

#undef ISA
#undef ISA_PASTE
#undef ISA_PASTE2
#undef ISA_PRAGMA
#undef ISA_PRAGMA2
#undef ISA_SUFFIX
#undef ISA_TARGET
#undef ISA_C
#undef ISA_AVX2
#undef ISA_AVX512
#undef ISA_AVX512VNNI
#undef ISA_AMX
#undef ISA_NEON
#undef ISA_DOTPROD
#undef ISA_I8MM
