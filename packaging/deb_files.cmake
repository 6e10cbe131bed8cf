# deb_files - run by cpack before it packs what it has installed in a place of
# its own: adds what Debian's policy wants of every package.

file(TIMESTAMP "${CPACK_HEED_SOURCE}/CHANGELOG.md" date
  "%a, %d %b %Y %H:%M:%S +0000" UTC)

# LICENSE in the form that Debian wants: " ." for an empty line
file(READ "${CPACK_HEED_SOURCE}/LICENSE" license)
string(REGEX MATCH "Copyright [^\n]*" holder "${license}")
string(REGEX REPLACE "^.*Copyright [^\n]*\n\n" "" license "${license}")
string(STRIP "${license}" license)
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")
string(REPLACE "Copyright (c) " "Copyright: " holder "${holder}")
string(CONCAT copyright
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
  "Upstream-Name: heed\n\n"
  "Files: *\n${holder}\nLicense: Expat\n ${license}\n")

function(compress file)
  execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  set(usr "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr")
  set(doc "${usr}/share/doc/${package}")

  file(WRITE "${doc}/copyright" "${copyright}")
  file(COPY "${CPACK_HEED_SOURCE}/CHANGELOG.md" DESTINATION "${doc}")
  file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
  compress("${doc}/changelog")
  file(WRITE "${doc}/changelog.Debian"
    "heed (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Packaged by its own build; changelog.gz says what is new.\n\n"
    " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
  compress("${doc}/changelog.Debian")

  set(overrides "${CPACK_HEED_SOURCE}/packaging/lintian.${component}")
  if(EXISTS "${overrides}")
    configure_file("${overrides}" "${usr}/share/lintian/overrides/${package}"
      COPYONLY)
  endif()

  file(GLOB pages "${usr}/share/man/man*/*.[0-9]")
  foreach(page IN LISTS pages)
    compress("${page}")
  endforeach()
  # cpack strips programs and shared libraries only
  file(GLOB archives "${usr}/lib/*.a" "${usr}/lib/*/*.a")
  foreach(archive IN LISTS archives)
    execute_process(COMMAND strip --strip-debug "${archive}"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(GLOB_RECURSE all "${doc}/*")
  file(CHMOD ${all} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
