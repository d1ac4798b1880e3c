# Compiler flags, one place. sdx_flags(TARGET) gives a target of ours the house flags.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG -fno-asynchronous-unwind-tables") # no unwind tables: nothing throws here
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(SDX_CCACHE ccache)
if(SDX_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${SDX_CCACHE})
endif()

# -std=c11 hides POSIX; _DEFAULT_SOURCE gives back what a plain `cc` shows, so both builds see the
# same declarations. A file that needs more says so itself.
# Contraction is off everywhere: the portable kernels are the definition of our results. errno and
# floating-point traps are the two parts of math.h nobody reads here; without them sqrtf is one
# instruction and loops with a select vectorise, and no value changes.
set(SDX_C_FLAGS
  -std=c11 -D_DEFAULT_SOURCE
  -fvisibility=hidden -ffunction-sections -fdata-sections
  -ffp-contract=off -fno-math-errno -fno-trapping-math
  -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith
  # Callbacks share signatures, and tables leave out what is zero.
  -Wno-unused-parameter -Wno-missing-field-initializers)
if(SDX_WERROR)
  list(APPEND SDX_C_FLAGS -Werror)
endif()
if(SDX_SANITIZE)
  add_compile_options(-fsanitize=${SDX_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SDX_SANITIZE})
  add_compile_definitions(SDX_SANITIZED)
endif()
if(SDX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link) # coverage, by which libFuzzer finds its way
endif()
add_link_options(-Wl,--gc-sections)

# The operator tables are full of pointers, each with 24 bytes of relocation; packed ones take one bit. glibc reads those
# from 2.36 on, so libraries for older systems are built without (as any built against an older glibc are).
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,-z,pack-relative-relocs)
set(CMAKE_REQUIRED_FLAGS -fPIC)
check_c_source_compiles("
#include <features.h>
#if !defined(__GLIBC__) || __GLIBC__ * 100 + __GLIBC_MINOR__ < 236
#error too old
#endif
int x; int *p = &x; int main(void) { return 0; }" SDX_LIBC_READS_PACKED_RELOCS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
unset(CMAKE_REQUIRED_FLAGS)
option(SDX_PACK_RELOCS "Smaller libraries, for glibc 2.36 and newer" ${SDX_LIBC_READS_PACKED_RELOCS})
if(SDX_PACK_RELOCS)
  add_link_options(-Wl,-z,pack-relative-relocs)
endif()

function(sdx_flags target)
  target_compile_options(${target} PRIVATE ${SDX_C_FLAGS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
endfunction()
