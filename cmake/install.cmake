# cmake --install, the pkg-config file and the find_package config.

include(CMakePackageConfigHelpers)

foreach(lib sardonyx sardonyx_static)
  target_include_directories(${lib} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  add_library(sardonyx::${lib} ALIAS ${lib})
endforeach()
set_target_properties(sardonyx_static PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(sardonyx_static PUBLIC Threads::Threads m ${CMAKE_DL_LIBS})

install(TARGETS sardonyx sardonyx_static EXPORT sardonyx)
install(DIRECTORY include/sardonyx TYPE INCLUDE)
if(EXISTS ${PROJECT_SOURCE_DIR}/LICENSE)
  install(FILES LICENSE TYPE DOC)
endif()

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sardonyx)
install(EXPORT sardonyx NAMESPACE sardonyx:: FILE sardonyx-targets.cmake DESTINATION ${cmake_dir})
configure_package_config_file(cmake/sardonyx-config.cmake.in sardonyx-config.cmake
  INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(sardonyx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sardonyx-config.cmake
  ${PROJECT_BINARY_DIR}/sardonyx-config-version.cmake DESTINATION ${cmake_dir})

# The prefix is found from where the file lies, so an installed tree can be moved.
file(RELATIVE_PATH SDX_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/sardonyx.pc.in sardonyx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sardonyx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
