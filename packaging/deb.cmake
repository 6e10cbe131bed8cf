# deb - what cpack makes: Debian packages of the program with its Lua module, of
# the C library, and of what is needed to build with it. tools/package runs it.
#
# DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's own tools.

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_VENDOR "the heed authors")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# each package has a first line of its own
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE
  OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(name "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
if(NOT name)
  set(name "the heed authors")
endif()
if(NOT address)
  set(address "heed@localhost")
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${name} <${address}>")

set(CPACK_COMPONENTS_ALL program)

# shlibdeps knows OpenBLAS, but not that it must be its OpenMP build
set(openblas "libopenblas0-openmp")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME heed)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
  "${openblas}, lua-argparse, lua-cjson, lua-filesystem, lua-rex-pcre2")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "gnuplot-nox | gnuplot")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "lua5.4, libheed-dev")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"attention for Lua: tensors, gradients and networks
The program heed runs Lua scripts and is a prompt; the Lua 5.4 module heed
that it brings also serves lua5.4 and other programs. Tensors with automatic
gradients, fused attention kernels for the processor at hand, modules,
optimisers, tokenisers and pictures, by the names that PyTorch uses.")

if(HEED_LIBRARY)
  list(APPEND CPACK_COMPONENTS_ALL library development)
  set(soname "libheed${PROJECT_VERSION_MAJOR}")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "${soname}")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "${openblas}")
  set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"tensors, gradients and attention: the C library
What programs in C need to run that were linked with heed. It does not need
Lua.")

  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libheed-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  # pkg-config and static linking ask for those of what heed stands on
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${soname} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), \
libopenblas-openmp-dev, libjansson-dev, libutf8proc-dev, libpng-dev, \
libjpeg-dev, libzip-dev")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"tensors, gradients and attention: files to build with
The header heed.h, the static library, and what CMake and pkg-config need to
find them.")
endif()

set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/packaging/deb_files.cmake")
set(CPACK_HEED_SOURCE "${CMAKE_SOURCE_DIR}")
include(CPack)
