"""Compiles HLSL files with DXC, the compiler for Direct3D 12, with the arguments that wgpu passes to it.

    python3 dxc.py LIBRARY FILE...      prints the rejected files, and the reasons on the standard error
    python3 dxc.py LIBRARY --version    prints DXC's version

LIBRARY is libdxcompiler.so. Its interfaces are declared in the header dxcapi.h.
"""

import ctypes
import sys
import uuid

COMPILER = "73e22d93-e6ce-47f3-b5bf-f0664f39c1b0"
IDXC_COMPILER3 = "228b4687-5a6a-4730-900c-9702b2203f54"
IDXC_RESULT = "58346cda-dde7-4497-9461-6f87af5e0659"
IDXC_BLOB_UTF8 = "3da636c9-ba71-4024-a301-30cbf125305b"
IDXC_VERSION_INFO = "b04f5b50-2059-4f12-a8ff-a1e0cde1cc7e"
UTF8 = 65001
OUTPUT_ERRORS = 2

# The index of each method in the method table of its interface.
QUERY_INTERFACE, RELEASE = 0, 2
COMPILE, GET_STATUS, GET_OUTPUT, GET_VERSION, GET_STRING = 3, 3, 7, 3, 6

ARGUMENTS = ["-E", "main", "-T", "cs_6_0", "-HV", "2018", "-no-warnings", "-Ges"]


def guid(text):
    return ctypes.create_string_buffer(uuid.UUID(text).bytes_le, 16)


def call(interface, method, *arguments, result=ctypes.c_int32):
    """Calls a method of a COM interface. The arguments are numbers and pointers."""
    method_table = ctypes.cast(interface, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    argument_types = [ctypes.c_uint32 if isinstance(argument, int) else ctypes.c_void_p for argument in arguments]
    function = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *argument_types)(method_table[method])
    return function(interface, *map(pointer, arguments))


def pointer(argument):
    if argument is None or isinstance(argument, int):
        return argument
    return ctypes.cast(argument, ctypes.c_void_p)


def check_result(status, output):
    if status != 0 or not output:
        raise OSError(f"DXC fails with {status & 0xffffffff:#x}")
    return output


class Buffer(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t), ("encoding", ctypes.c_uint32)]


def messages(result):
    """Returns the compiler's messages about a source."""
    blob, name = ctypes.c_void_p(), ctypes.c_void_p()
    call(result, GET_OUTPUT, OUTPUT_ERRORS, guid(IDXC_BLOB_UTF8), ctypes.byref(blob), ctypes.byref(name))
    if not blob:
        return ""
    text = call(blob, GET_STRING, result=ctypes.c_char_p).decode()
    call(blob, RELEASE)
    return text


def compile(compiler, source):
    """Returns whether DXC accepts the source, and its messages."""
    buffer = Buffer(source, len(source), UTF8)
    arguments = (ctypes.c_wchar_p * len(ARGUMENTS))(*ARGUMENTS)
    result, status = ctypes.c_void_p(), ctypes.c_int32()
    check_result(
        call(
            compiler,
            COMPILE,
            ctypes.byref(buffer),
            arguments,
            len(ARGUMENTS),
            None,
            guid(IDXC_RESULT),
            ctypes.byref(result),
        ),
        result,
    )
    check_result(call(result, GET_STATUS, ctypes.byref(status)), result)
    message_text = messages(result)
    call(result, RELEASE)
    return status.value == 0, message_text


def main(library, *files):
    compiler = ctypes.c_void_p()
    create_instance = ctypes.CDLL(library).DxcCreateInstance
    check_result(create_instance(guid(COMPILER), guid(IDXC_COMPILER3), ctypes.byref(compiler)), compiler)
    if files == ("--version",):
        info, major, minor = ctypes.c_void_p(), ctypes.c_uint32(), ctypes.c_uint32()
        check_result(call(compiler, QUERY_INTERFACE, guid(IDXC_VERSION_INFO), ctypes.byref(info)), info)
        call(info, GET_VERSION, ctypes.byref(major), ctypes.byref(minor))
        print(f"{major.value}.{minor.value}")
        return
    for file in files:
        with open(file, "rb") as source_file:
            accepted, message_text = compile(compiler, source_file.read())
        if not accepted:
            print(file)
            print(f"{file}: {message_text}", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
