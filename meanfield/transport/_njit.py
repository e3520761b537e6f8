"""temporary"""
import numba


def njit(*args, **kw):
    kw = dict(cache=True, nogil=True) | kw
    return numba.njit(*args, **kw)
