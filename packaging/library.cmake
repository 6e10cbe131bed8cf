# library - how the C library is installed, and found by other builds: by
# CMake (heedConfig.cmake.in) and by pkg-config. All paths start from the files
# themselves, so that the installed tree may move.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/heed")

set_target_properties(heed_shared PROPERTIES EXPORT_NAME heed)
set_target_properties(heed_static PROPERTIES EXPORT_NAME static)
install(TARGETS heed_shared EXPORT heed-shared
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    COMPONENT library NAMELINK_COMPONENT development
  PUBLIC_HEADER DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS heed_static EXPORT heed-static
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(kind IN ITEMS shared static)
  install(EXPORT heed-${kind} NAMESPACE heed:: DESTINATION "${package_dir}"
    COMPONENT development)
endforeach()

configure_package_config_file(packaging/heedConfig.cmake.in
  "${CMAKE_BINARY_DIR}/heedConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
# before 1.0 every MINOR may break what used the one before
write_basic_package_version_file("${CMAKE_BINARY_DIR}/heedConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/heedConfig.cmake"
  "${CMAKE_BINARY_DIR}/heedConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

file(RELATIVE_PATH up "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
  "${CMAKE_INSTALL_PREFIX}")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/heed.pc" CONTENT
"prefix=\${pcfiledir}/@up@.
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: heed
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Libs: -L\${libdir} -lheed
Libs.private: @OpenMP_C_FLAGS@ -lm
Requires.private: openblas jansson libutf8proc libpng libjpeg libzip
Cflags: -I\${includedir}
" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/heed.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
