# What is installed where, in two parts: `lumen` (program, models, manual, and for other programs headers,
# libraries and find_package(Lumen) with one target per room: Lumen::geometry, …) and `lumen-train` (what
# needs Torch). `cpack` makes a Debian package of each.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME lumen)

get_property(rooms GLOBAL PROPERTY LUMEN_ROOMS)
install(TARGETS ${rooms} EXPORT LumenTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/lumen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*_test*" EXCLUDE
        PATTERN apps EXCLUDE PATTERN train EXCLUDE)
install(EXPORT LumenTargets NAMESPACE Lumen:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lumen)
configure_package_config_file(cmake/LumenConfig.cmake.in ${CMAKE_BINARY_DIR}/LumenConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lumen)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/LumenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/LumenConfig.cmake ${CMAKE_BINARY_DIR}/LumenConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Lumen)
install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lumen/models FILES_MATCHING PATTERN "*.safetensors" PATTERN curves EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lumen RENAME copyright)
foreach(module lumen_opencv lumen_gdcm)
  if(TARGET ${module})
    install(TARGETS ${module} LIBRARY DESTINATION lib/lumen/modules)
  endif()
endforeach()

# The manual page and the shells' completions are what the program itself prints.
if(TARGET lumen)
  install(TARGETS lumen RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(printed ${CMAKE_BINARY_DIR}/printed)
  add_custom_command(OUTPUT ${printed}/lumen.1.gz ${printed}/lumen.bash ${printed}/_lumen ${printed}/lumen.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${printed}
    COMMAND lumen manual > ${printed}/lumen.1
    COMMAND gzip -9nf ${printed}/lumen.1
    COMMAND lumen completion bash > ${printed}/lumen.bash
    COMMAND lumen completion zsh > ${printed}/_lumen
    COMMAND lumen completion fish > ${printed}/lumen.fish
    DEPENDS lumen COMMENT "Printing the manual page and the shells' completions")
  add_custom_target(lumen_printed ALL DEPENDS ${printed}/lumen.1.gz ${printed}/lumen.bash ${printed}/_lumen ${printed}/lumen.fish)
  install(FILES ${printed}/lumen.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${printed}/lumen.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME lumen)
  install(FILES ${printed}/_lumen DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${printed}/lumen.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

if(TARGET lumen-train)
  install(TARGETS lumen_torch LIBRARY DESTINATION lib/lumen/modules COMPONENT lumen-train)
  install(TARGETS lumen-train RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lumen-train)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lumen-train RENAME copyright COMPONENT lumen-train)
endif()
