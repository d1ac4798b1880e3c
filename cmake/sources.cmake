# Finding sources by folder, and the shapes of target we build from them.

# Every .c under the folders, without the unit tests.
function(sdx_glob out)
  set(all)
  foreach(dir ${ARGN})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*.c)
    list(APPEND all ${found})
  endforeach()
  list(FILTER all EXCLUDE REGEX "_test\\.c$")
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# Every x_test.c under the folders.
function(sdx_glob_tests out)
  set(all)
  foreach(dir ${ARGN})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*_test.c)
    list(APPEND all ${found})
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# An object library over engine sources; nothing when there are none.
function(sdx_objects target)
  if(ARGN)
    add_library(${target} OBJECT ${ARGN})
    sdx_flags(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # Release code is -O2, but for size where speed is not asked: what runs once a session, operators that nobody
    # waits for, and the portable definitions of kernels, which machines with vectors only test against.
    set(small ${ARGN})
    list(FILTER small INCLUDE REGEX "/src/(graph|onnx|opt|train|session|api|ort|tensor)/|/src/image/|/src/base/(module|regex|unicode)\\.c$|/src/ep/.*(qdq|layout|fuse|rewrites|prog|plan|place|plan_cache|cpu_ep|ep)\\.c$|/src/kern/.*(_c|reduce_types|reduce_avx2|reduce_avx512|map1_f64|map2_rare|pick|bits)\\.c$")
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/cold_ops.txt cold) # one name, or pattern, a line: files of src/ops
    list(JOIN cold "|" cold)
    set(cold_ops ${ARGN})
    list(FILTER cold_ops INCLUDE REGEX "/src/ops/(${cold})\\.c$")
    list(APPEND small ${cold_ops})
    set_source_files_properties(${small} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
    # Two-input maps of all types: what a vector leaves over goes one by one, not in half vectors again.
    set(maps ${ARGN})
    list(FILTER maps INCLUDE REGEX "/src/kern/map/map2_types\\.c$")
    if(maps AND CMAKE_C_COMPILER_ID STREQUAL GNU)
      set_source_files_properties(${maps} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:--param=vect-epilogues-nomask=0>")
    endif()
    # Between a custom operator's kernel and base/guard.c, which stops its exceptions, frames need unwind tables.
    set(thrown ${ARGN})
    list(FILTER thrown INCLUDE REGEX "/src/ort/custom_(op|run)\\.c$")
    set_property(SOURCE ${thrown} APPEND PROPERTY COMPILE_OPTIONS -fexceptions)
    # clang's undefined-behaviour checks take many minutes on fully unrolled tiles. Their portable twins keep them.
    if(SDX_SANITIZE)
      set(tiles ${ARGN})
      list(FILTER tiles INCLUDE REGEX "/src/kern/(gemm|conv)/.*_(avx2|avx512|neon).*\\.c$")
      set_source_files_properties(${tiles} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=undefined$<$<BOOL:${SDX_FUZZ}>:;-fno-sanitize=fuzzer-no-link>")
    endif()
  endif()
endfunction()

# A shared library exports what its map names and binds its own symbols to itself, so that two of
# ours in one process do not mix.
function(sdx_exports target map)
  set(map ${PROJECT_SOURCE_DIR}/${map})
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic -Wl,--version-script=${map} -Wl,--as-needed)
  if(NOT SDX_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map} LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE Threads::Threads m ${CMAKE_DL_LIBS})
endfunction()
