"""Prefetching: rows in random order would otherwise wait for memory."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxmargin.loops.jit import inlined

FOR_READING, KEEP_IN_ALL_CACHES, DATA = 0, 3, 1


@intrinsic
def _fetch(typing_context, array, place):
    if not (isinstance(array, types.Array) and isinstance(place, types.Integer)):
        return None

    def generate(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(start, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [address, *(ir.Constant(word, n) for n in (FOR_READING, KEEP_IN_ALL_CACHES, DATA))])
        return context.get_dummy_value()

    return types.void(array, place), generate


@inlined
def fetch_early(array, place):
    """Prefetch the cache line of the entry at ``place``, counted from the start of a contiguous array."""
    _fetch(array, place)  # type: ignore[call-arg]
