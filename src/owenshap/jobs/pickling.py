"""Things as bytes that another process makes the same things of."""

from __future__ import annotations

import pickle
from typing import Any

from owenshap.errors import InputError, MissingExtraError
from owenshap.support.extras import needed


def pickled(thing: Any) -> bytes:
    """As bytes; functions of a script or a notebook with what they do, where cloudpickle is there.

    It comes with Dask, and knows what pickle cannot: functions that are in no module.
    """
    try:
        cloudpickle = needed("cloudpickle", extra="dask")
    except MissingExtraError:
        cloudpickle = pickle
    try:
        return bytes(cloudpickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        got = f"{type(error).__name__}({error})"
        advice = "Define its function at the top of a module, or use threads"
        rule = "be picklable to go to another process"
        raise InputError("the model", rule, got, advice) from error
