# SPDX-License-Identifier: Apache-2.0
# How a Warploom target is made: its sources, its warnings, its sanitizers, and the libraries below it.

# Options that our own targets share. Libraries of others arrive as system includes and see none of it.
add_library(warploom_options INTERFACE)
# No -ffast-math, and no fused multiply-add behind our back: same config and seed, same bytes.
target_compile_options(warploom_options INTERFACE -Wall -Wextra -Wconversion -ffp-contract=off)
if(WARPLOOM_WERROR)
  target_compile_options(warploom_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang counts sign conversions as -Wconversion, g++ does not; g++ is the compiler we promise for.
  # Clang 19 finds libstdc++ 12's own deprecated calls through us.
  target_compile_options(warploom_options INTERFACE -Wno-sign-conversion -Wno-deprecated-declarations)
endif()

# Sanitizers go to every target, generated code included, so that containers agree about their annotations.
if(WARPLOOM_SANITIZERS)
  add_compile_options(-fsanitize=${WARPLOOM_SANITIZERS} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WARPLOOM_SANITIZERS})
endif()
if(WARPLOOM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WARPLOOM_FUZZ needs clang: use the preset `fuzz`")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Sets `result` to the C++ sources under the current folder; a new file is seen at the next build.
function(warploom_sources result)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# Links the libraries that exist: a folder may still be empty.
function(warploom_link target visibility)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library} OR NOT library MATCHES "^warploom_")
      target_link_libraries(${target} ${visibility} ${library})
    endif()
  endforeach()
endfunction()

# warploom_library(<target> [PUBLIC lib...] [PRIVATE lib...]): the static library of the current folder.
function(warploom_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE")
  warploom_sources(sources)
  if(NOT sources)
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}")
  warploom_link(${target} PUBLIC ${arg_PUBLIC})
  warploom_link(${target} PRIVATE warploom_options ${arg_PRIVATE})
endfunction()
