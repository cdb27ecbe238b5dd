"""Bounds as text of a few digits, rounded so that what is printed holds, too: upper bounds up, lower bounds down.

A number is what its shortest decimal says: 0.07 is printed as 0.07, though the float64 of that name is a little more.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def digits_up(value: float, digits: int) -> str:
    """An upper bound in so many digits: what the text says is not below the value."""
    return _rounded(value, digits, ROUND_CEILING)


def digits_down(value: float, digits: int) -> str:
    """A lower bound in so many digits: what the text says is not above the value."""
    return _rounded(value, digits, ROUND_FLOOR)


def percent_up(share: float, digits: int) -> str:
    """A share as a percentage in so many digits, rounded up; the sign % is not part of it."""
    return _rounded(share, digits, ROUND_CEILING, power=2)


def percent_down(share: float, digits: int) -> str:
    """A share as a percentage in so many digits, rounded down; the sign % is not part of it."""
    return _rounded(share, digits, ROUND_FLOOR, power=2)


def _rounded(value: float, digits: int, rounding: str, power: int = 0) -> str:
    exact = Decimal(repr(float(value))).scaleb(power)
    # 0 is added because there is no minus zero in a sentence; the format is that of floats.
    return f"{float(Context(prec=digits, rounding=rounding).plus(exact)) + 0.0:.{digits}g}"
