#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Writes FOLDER/cc and FOLDER/c++, which compile against the C library that ABI names: gnu.2.28 is glibc
# with the interfaces of 2.28, musl is musl.  Zig (ziglang of PyPI) has Clang, the headers of these
# libraries, stubs or sources to link, and a C++ library.  With musl, a program without shared
# libraries is linked statically.
#
#     tools/zig_compilers.sh PYTHON ABI FOLDER
set -eu
python=$1 abi=$2 folder=$3
zig=$("$python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
version=$("$zig" version)
mkdir -p "$folder"
for language in cc c++; do
    # Zig's C++ library is part of what it links.  Its linker binds functions only together with data.
    # Zig adds checks for undefined behaviour by itself.
    cat > "$folder/$language.new" << END
#!/bin/sh
# Zig $version
for each do
    shift
    case \$each in
        -static-libstdc++ | -static-libgcc) continue ;;
        -Wl,-Bsymbolic-functions) each=-Wl,-Bsymbolic ;;
    esac
    set -- "\$@" "\$each"
done
exec "$zig" $language -target $(uname -m)-linux-$abi -fno-sanitize=undefined "\$@"
END
    chmod +x "$folder/$language.new"
    # A new file would be a new compiler to CMake and to ccache.
    if cmp -s "$folder/$language.new" "$folder/$language"; then
        rm "$folder/$language.new"
    else
        mv "$folder/$language.new" "$folder/$language"
    fi
done
