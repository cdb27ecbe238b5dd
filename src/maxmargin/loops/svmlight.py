"""Parser of svmlight text: ``label [qid:number] index:value index:value ... # comment``."""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.decimals import BAD, FIRST_DIGIT, LATE, MINUS, NINE, ONE, PLUS, TEN, read_number
from maxmargin.loops.jit import inlined, jit

NEWLINE, TAB, RETURN, SPACE, HASH, COLON = (np.uint8(ord(sign)) for sign in "\n\t\r #:")
SMALL_Q, SMALL_I, SMALL_D = (np.uint8(ord(letter)) for letter in "qid")
# Digits of an integer that always fits 64 bits.
MOST_DIGITS = np.uint64(18)

FINE, NO_LABEL, NO_QUERY, BAD_QUERY, NO_INDEX, INDEX_TOO_SMALL, INDEX_TOO_LARGE, NOT_RISING, NO_VALUE = range(9)


class Limits(NamedTuple):
    """The smallest and the largest index that a line may have."""

    lowest: int
    highest: int


class Entries(NamedTuple):
    """Output arrays of the parser, with the sizes of ``count``; filled in place.

    Attributes
    ----------
    labels : ndarray of float64, one for each row
    ends : ndarray of int64, the number of entries up to the end of each row
    queries : ndarray of int64, one for each row, or empty where they are not requested
    indices : ndarray of int32, as in the text
    values : ndarray of float32 or float64
    late : ndarray of int64 with three columns, for numbers that Python has to read: the position of the value (for a
        label: -1 - its row), and the start and end of its text
    """

    labels: np.ndarray
    ends: np.ndarray
    queries: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    late: np.ndarray


class Outcome(NamedTuple):
    """Numbers of rows, entries and late numbers, the extreme indices, and the fault that ended it, with its place."""

    n_rows: int
    n_entries: int
    n_late: int
    smallest: int
    largest: int
    fault: int
    place: int


@jit
def count(text):
    """The numbers of lines and of colons: upper bounds on the numbers of rows and entries."""
    n_lines, n_colons = 0, 0
    for byte in text:
        n_lines += byte == NEWLINE
        n_colons += byte == COLON
    return n_lines, n_colons


@inlined
def is_space(byte):
    return byte == SPACE or (TAB <= byte <= RETURN and byte != NEWLINE)


@inlined
def ends_token(byte):
    return byte == SPACE or TAB <= byte <= RETURN or byte == HASH


@inlined
def read_digits(text, at):
    """Read an unsigned integer; returns it, the position after it, and the number of its digits."""
    first = at
    integer = np.uint64(0)
    digit = np.uint64(text[at]) - FIRST_DIGIT
    while digit <= NINE:
        integer = integer * TEN + digit
        at += ONE
        digit = np.uint64(text[at]) - FIRST_DIGIT
    return integer, at, at - first


@jit
def parse(text, limits, entries):
    """Parse all lines of a text that ends with a newline, or those before the first invalid one.

    Returns the fields of ``Outcome``.
    """
    labels, ends, queries, indices, values, late = entries
    lowest, highest = np.uint64(limits.lowest), np.uint64(limits.highest)
    size = np.uint64(text.size)
    at = np.uint64(0)
    row, entry, n_late = np.uint64(0), np.uint64(0), 0
    smallest, largest = highest, np.uint64(0)
    fault, place = FINE, at
    while at < size:
        while is_space(text[at]):
            at += ONE
        if text[at] != NEWLINE and text[at] != HASH:
            place = at
            number, at, end = read_number(text, at)
            if end == BAD or not ends_token(text[at]):
                fault = NO_LABEL
                break
            labels[row] = number
            if end == LATE:
                late[n_late, 0], late[n_late, 1], late[n_late, 2] = -1 - np.int64(row), place, at
                n_late += 1
            while is_space(text[at]):
                at += ONE
            place = at
            if text[at] == SMALL_Q and text[at + ONE] == SMALL_I and text[at + ONE + ONE] == SMALL_D:
                at += ONE + ONE + ONE
                if text[at] != COLON:
                    fault = BAD_QUERY
                    break
                at += ONE
                negative = text[at] == MINUS
                if negative or text[at] == PLUS:
                    at += ONE
                query, at, n_digits = read_digits(text, at)
                if n_digits < ONE or n_digits > MOST_DIGITS or not ends_token(text[at]):
                    fault = BAD_QUERY
                    break
                if queries.size > 0:
                    queries[row] = -np.int64(query) if negative else np.int64(query)
                while is_space(text[at]):
                    at += ONE
            elif queries.size > 0:
                fault = NO_QUERY
                break
            least = lowest
            begin = entry
            while text[at] != NEWLINE and text[at] != HASH:
                place = at
                index, at, n_digits = read_digits(text, at)
                if n_digits < ONE or text[at] != COLON:
                    fault = NO_INDEX
                    break
                if index < least:
                    fault = INDEX_TOO_SMALL if index < lowest else NOT_RISING
                    break
                if index > highest or n_digits > MOST_DIGITS:
                    fault = INDEX_TOO_LARGE
                    break
                least = index + ONE
                at += ONE
                first = at
                number, at, end = read_number(text, at)
                if end == BAD or not ends_token(text[at]):
                    fault = NO_VALUE
                    break
                indices[entry] = index
                values[entry] = number
                if end == LATE:
                    late[n_late, 0], late[n_late, 1], late[n_late, 2] = entry, first, at
                    n_late += 1
                entry += ONE
                while is_space(text[at]):
                    at += ONE
            if fault != FINE:
                break
            if entry > begin:
                smallest = min(smallest, np.uint64(indices[begin]))
                largest = max(largest, least - ONE)
            ends[row] = entry
            row += ONE
        while text[at] != NEWLINE:
            at += ONE
        at += ONE
    return np.int64(row), np.int64(entry), n_late, np.int64(smallest), np.int64(largest), fault, np.int64(place)
