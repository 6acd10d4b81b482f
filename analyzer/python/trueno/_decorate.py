"""Spans around functions."""

import functools
import inspect


def decorated(span, function):
    """The function, with a span like this one around each call."""
    if inspect.iscoroutinefunction(function):
        raise TypeError(
            "a span cannot be around a coroutine, which waits while others run on its thread "
            "(hint: put `with rec.brick(…)` around the parts that do not await)"
        )

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with span.again():
            return function(*args, **kwargs)

    return wrapper
