"""Check what a model file of maxmargin claims, from the training data alone and in exact arithmetic.

    python maxmargin_check.py MODEL DATA [--weights FILE] [--target COLUMN] [--zero-based]

The program needs nothing but Python. docs/proof-format.md states the file format, the problems and the claims; its sections are
named below. Nothing is taken from the package. Every float64 is an integer times a power of two: all numbers of a problem become
integers over one denominator, ``one``, and objectives, duals, margins and hull points are sums of products of integers. Only
square roots, and exp and log for the RBF kernel and logistic regression, are rounded, with a bound on the error near 2**-160.
The answer to every claim is TRUE, FALSE with the claimed and the computed number, or NOT CHECKED with the reason.
Exit code: 0 if no claim is false, 1 if one is, 2 if a file cannot be read (a wrong checksum, nan, duplicate keys, ...).
"""

import argparse
import csv
import gzip
import hashlib
import json
import lzma
import math
import struct
import sys
from array import array
from fractions import Fraction
from itertools import chain, combinations, islice, pairwise, repeat
from operator import mul
from pathlib import Path

BITS = 192  # fraction bits of square roots, exp and log; a claim has 53
EXP_ERROR = 1 << 24  # of exp_negative, in units of 2**-BITS: 16 squarings double an error of at most 2**6 and add 2
LOG_ERROR = 1 << 30  # of logarithm, in the same units: four times EXP_ERROR for m >= 1/4, and the rounding there
KERNEL_LIMIT = 4_000_000  # kernel values: about half a minute
CONTENT = {"sha256", "format", "version", "class", "parameters", "problem", "data", "attributes", "column_major"}
INF = math.inf


class Unreadable(Exception):
    """A file that is not what it should be: no claim is decided."""


def decode(pairs):
    """A JSON object without duplicate keys (section 1): a float, a dictionary, or the object itself."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unreadable("a key of a JSON object occurs twice")
    if value.keys() == {"float"}:
        return float.fromhex(value["float"])
    return decode(value["pairs"]) if value.keys() == {"pairs"} else value


def read_model(content):
    """The content and the tensors of a model file (section 1), each tensor a list of rows."""
    codes, tensors, end = {"F64": "d", "F32": "f", "I64": "q", "I32": "i"}, {}, 0
    strict = {"object_pairs_hook": decode, "parse_float": int, "parse_constant": int}  # int refuses both
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start].decode(), **strict)
    model = json.loads(header.pop("__metadata__")["maxmargin"], **strict)
    if set(model) != CONTENT or (model["format"], model["version"]) != ("maxmargin model", 2):
        raise Unreadable("not a model file of version 2")
    digits = model["sha256"].encode()
    empty = hashlib.sha256(content.replace(digits, b"0" * 64, 1)).hexdigest().encode()
    if content[:start].count(digits) != 1 or empty != digits:
        raise Unreadable("the checksum is not that of the file")
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (begin, stop), shape, form = entry["data_offsets"], entry["shape"], codes[entry["dtype"]]
        form = f"<{math.prod(shape)}{form}"
        if begin != end or stop - begin != struct.calcsize(form) or len(entry) != 3 or len(shape) not in (1, 2):
            raise Unreadable(f"tensor {name}: an overlap, a gap or a wrong length")
        values, end, width = struct.unpack_from(form, content, start + begin), stop, shape[-1]
        tensors[name] = [values[k * width : (k + 1) * width] for k in range(shape[0] if len(shape) > 1 else 1)]
        if not all(map(math.isfinite, values)):
            raise Unreadable(f"tensor {name} holds nan or infinity")
    if start + end != len(content):
        raise Unreadable("bytes follow the last tensor")
    return model, tensors


def lines_of(path):
    """The lines of a text file, compressed or not."""
    opening = {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix, open)
    with opening(path, "rt", encoding="utf-8") as file:
        yield from file


def read_rows(path, names, target, first):
    """Label, columns and values of every row (section 2) of a CSV file, or of svmlight text."""
    if ".csv" in Path(path).suffixes:
        table = csv.DictReader(lines_of(path), strict=True)
        others = [target] if target else [name for name in table.fieldnames or () if name not in names]
        if len(others) != 1 or len(set(table.fieldnames)) < len(table.fieldnames):
            raise Unreadable("which column is the target? Name it by --target")
        for row in table:
            yield row[others[0]], range(len(names)), [float(row[name]) for name in names]
        return
    for line in lines_of(path):
        if words := line.partition("#")[0].split():
            pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
            yield words[0], [int(j) - first for j, _ in pairs], [float(v) for _, v in pairs]


def code_of(label, codes, textual):
    """The place of a label in ``classes_``; number labels compare as numbers, of any size."""
    if not textual or label not in codes:
        label = int(label) if label.lstrip("+-").isdigit() else float(label)
        label = str(int(label) if label == int(label) else label) if textual else label
    return codes[label]


def integers(values):
    """Integers N and one denominator D with values[i] = N[i] / D."""
    ratios = [v.as_integer_ratio() for v in values]
    D = math.lcm(*{d for _, d in ratios})
    return [n * (D // d) for n, d in ratios], D


def total(values):
    """The sum of fractions and a bound on its error: exact unless that would take a huge denominator."""
    sums = {}
    for n, d in (v.as_integer_ratio() for v in values):
        sums[d] = sums.get(d, 0) + n
    if len({d // (d & -d) for d in sums}) < 50:
        return sum((Fraction(n, d) for d, n in sums.items()), Fraction(0)), 0
    bits = 2 * BITS + max(sums).bit_length()
    return Fraction(sum((n << bits) // d for d, n in sums.items()), 1 << bits), Fraction(len(sums), 1 << bits)


def root(square, error=0):
    """The square root of a fraction and a bound on its error, zero where it is rational."""
    n, d = max(square, 0).as_integer_ratio()
    shift = max(0, 2 * BITS + 4 - (n * d).bit_length()) // 2 + 1
    r = math.isqrt(n * d << 2 * shift)
    value, rounding = Fraction(r, d << shift), Fraction(r * r != n * d << 2 * shift, d << shift)
    return value, rounding + (2 * error / value if value else 2 * error and root(error)[0])


def over_root(value, square, error=0, square_error=0):
    """value / square**(1/2) and a bound on its error."""
    r, e = root(square, square_error)
    return value / r, 2 * (error + abs(value / r) * e) / r


def balanced(values):
    """Numbers with sum zero: those of the heavier sign are multiplied by the quotient of the two sums (the repair)."""
    plus, minus = sum(v for v in values if v > 0), -sum(v for v in values if v < 0)
    factor = min(plus, minus) / max(plus, minus) if plus or minus else 1
    return [v * factor if (v > 0) == (plus > minus) else v for v in values]


def exp_negative(n, d):
    """2**BITS exp(-n/d) for n/d >= 0, up to EXP_ERROR: exp(-t) is the power 2**16 of exp(-t / 2**16)."""
    t = (n << BITS) // d
    if t >> BITS >= 128:  # exp(-128) < 2**-184
        return 0
    t >>= 16
    result = term = 1 << BITS
    for k in range(1, 20):
        term = -(term * t >> BITS) // k
        result += term
    for _ in range(16):
        result = result * result >> BITS
    return result


def logarithm(n, d):
    """2**BITS log(n/d) for n/d > 0, up to LOG_ERROR (1 + |log2(n/d)|): log m = log(1 + r) - g with r = m exp(g) - 1."""
    k = n.bit_length() - d.bit_length() + 1  # n/d = m 2**k with 1/4 < m <= 1
    m = (n << BITS - min(k, 0)) // (d << max(k, 0))
    g = max(0.0, -math.log(m / (1 << BITS))).as_integer_ratio()
    r = (m << BITS) // exp_negative(*g) - (1 << BITS)
    if abs(r) >> BITS - 45:  # the series below would not do
        raise ArithmeticError("math.log is not accurate on this machine")
    r += (r * r * r >> 2 * BITS) // 3 - (r * r >> BITS + 1) - (g[0] << BITS) // g[1]
    return r + k * LOG_2 if k else r


LOG_2 = -logarithm(1, 2)


class Linear:
    """Coefficients of one task: exact scores F_i = w·x_i + b, and ``sizes``, the sums of the absolute values of their terms."""

    definite, error, norm_error = True, 0, 0

    def __init__(self, data, w, b):
        self.data, self.b, (W, D) = data, Fraction(b), integers([*w, b])
        terms = [list(map(mul, v, map(W.__getitem__, j))) for j, v in data.X]
        self.F, self.sizes = ([Fraction(sum(map(f, row)), D * data.D) for row in terms] for f in (int, abs))
        self.norm, self.squares = Fraction(sum(map(mul, W[:-1], W)), D * D), data.squares

    def square(self, beta, ones=False):
        """The squared norm of the sum of beta_i x_i, or of beta_i (x_i, 1), and a bound on its error."""
        v, D = integers(self.data.combination(beta)[: None if ones else -1])
        return Fraction(sum(map(mul, v, v)), D * D), 0


class Expansion:
    """The same for w = sum_j beta_j phi(x_j); K holds columns of the kernel matrix as integers over ``unit``."""

    def __init__(self, data, kernel, beta, b, K):
        name, power, D = kernel["name"], int(kernel.get("degree", 1)), data.D**2
        (g, Dg), (c, Dc) = (kernel.get(key, 0.0).as_integer_ratio() for key in ("gamma", "coef0"))
        self.K, self.b, self.definite, (betas, Db) = K, b, g >= 0 and c >= 0, integers(beta.values())
        self.unit = {"rbf": 1 << BITS, "poly": (Dg * Dc * D) ** power, "linear": D}[name]

        def value(dot, distance):
            if name == "rbf":
                return exp_negative(g * distance, Dg * D)
            return (g * Dc * dot + c * Dg * D) ** power if name == "poly" else dot

        lengths = [int(s * D) for s in data.squares]
        self.squares = [Fraction(value(s, 0), self.unit) for s in lengths]
        for j in beta.keys() - K.keys():
            z = dict(zip(*data.X[j])) | {data.d: 0}
            dots = (sum(map(mul, v, map(z.get, columns, repeat(0)))) for columns, v in data.X)
            K[j] = [value(dot, s + lengths[j] - 2 * dot) for dot, s in zip(dots, lengths)]
        columns = zip(*(K[j] for j in beta)) if beta else repeat((), data.n)
        self.F = [Fraction(sum(map(mul, betas, row)), Db * self.unit) + b for row in columns]
        gamma, coef0, rho = Fraction(g, Dg), Fraction(c, Dc), max(data.squares)
        largest = {"linear": rho, "poly": (gamma * rho + abs(coef0)) ** power, "rbf": 1 + gamma * rho}[name]
        self.sizes = repeat(abs(b) + largest * sum(map(abs, beta.values())))
        self.k_error = Fraction(EXP_ERROR if name == "rbf" else 0, self.unit)
        self.error = self.k_error * sum(map(abs, beta.values()))
        self.norm, self.norm_error = self.square([beta.get(i, 0) for i in range(data.n)])

    def square(self, beta, ones=False):
        used = [i for i, b in enumerate(beta) if b]
        B, D = integers([beta[i] for i in used])
        value = Fraction(sum(b * sum(c * self.K[j][i] for j, c in zip(used, B)) for i, b in zip(used, B)), D * D * self.unit)
        return value + (sum(beta) ** 2 if ones else 0), self.k_error * sum(map(abs, beta)) ** 2


class Checker(list):
    """The answers (claim, verdict, detail) on one model; points (x, 1) as integers X over D."""

    def __init__(self, model, tensors, rows, weights):
        self.model, self.problem, self.attributes, self.tensors = model, model["problem"], model["attributes"], tensors
        self.d, self.prefix, data = self.attributes["n_features_in_"], "", model["data"] or {}
        textual = self.attributes.get("classes_.type", "").startswith(("object", "text"))
        codes = {label: code for code, label in enumerate(self.attributes.get("classes_", ()))}
        self.y, self.columns, self.values = [], [], []
        for label, j, v in rows:
            if j and not (0 <= j[0] and j[-1] < self.d and all(map(int.__lt__, j, j[1:])) and all(map(math.isfinite, v))):
                raise Unreadable(f"row {len(self.y) + 1}: nan, or columns that do not ascend from 1 to {self.d}")
            self.y.append(code_of(label, codes, textual) if codes else float(label) + 0.0)
            self.columns.append(array("Q", [a for a, b in zip(j, v) if b] if 0.0 in v else j))
            self.values.append(array("d", [b for b in v if b] if 0.0 in v else v))
        self.n, self.k, s = len(self.y), len(codes), array("d", map(float, weights))
        if len(s) not in (0, self.n) or not all(0 <= x < INF for x in chain(s, map(abs, self.y))):
            raise Unreadable("as many weights as rows, none negative, and finite targets are needed")
        y, sizes = array("Q" if codes else "d", self.y), array("Q", [self.n, self.d, *map(len, self.columns)])
        parts = {"X": [sizes, *self.columns, *self.values], "y": [y], "weights": [s] * bool(s)}
        found = {name: hashlib.sha256(b"".join(map(bytes, part))).hexdigest() if part else None for name, part in parts.items()}
        self.same = not data or self.say("data", found == {name: data[name] for name in found}, "hashes of X, y and weights")
        m = [a * data["class_factors"][c] for a, c in zip(s or [1.0] * self.n, self.y)] if data.get("class_factors") else s
        self.m = list(map(Fraction, m or [1] * self.n))
        C = self.problem.get("C", INF)
        self.C = [Fraction(C * float(x)) if C < INF else x for x in self.m]
        values, self.D = integers(list(chain(*self.values)))
        rest = iter(values)
        self.X = [([*j, self.d], [*islice(rest, len(j)), self.D]) for j in self.columns]
        self.squares = [Fraction(sum(map(mul, v[:-1], v)), self.D**2) for _, v in self.X]

    def combination(self, factors, power=1):
        """The sums over i of factors_i (x_ij, 1)**power."""
        (B, D), sums = integers(factors), [0] * (self.d + 1)
        for factor, (columns, values) in zip(B, self.X):
            if factor:
                for j, v in zip(columns, values):
                    sums[j] += factor * v**power
        return [Fraction(v, D * self.D**power) for v in sums]

    def scaled_norm(self, v):
        """The norm of v_j / s_j, s the tensor proof.scales, and a bound on its error."""
        pairs = [(a, Fraction(s)) for a, s in zip(v, self.tensors["proof.scales"][0]) if a]
        return root(*total((a / s) ** 2 for a, s in pairs)) if all(s for _, s in pairs) else (INF, 0)

    def spread(self, rows, values):
        """A list with these values in these rows, else 0."""
        return list(map(dict(zip(rows, values)).get, range(self.n), repeat(0)))

    def say(self, name, true, detail=""):
        self.append((self.prefix + name, {True: "TRUE", False: "FALSE"}.get(true, true), detail))
        return true is True

    def holds(self, name, small, large, slack=0):
        """Is small <= large? The computed number has an error of at most ``slack``."""
        slack = 0 if INF in (abs(small), abs(large)) else slack
        true = small + slack <= large or (False if small - slack > large else "NOT CHECKED")
        texts = (f"{x.numerator / x.denominator!r}..." if isinstance(x, Fraction) else repr(x) for x in (small, large))
        return self.say(name, true, " <= ".join(texts) if isinstance(true, bool) else "the error bound is too large")

    def gap(self, claim, primal, primal_error, dual, dual_error):
        self.holds("primal", primal, claim["primal"], primal_error)
        self.holds("dual", claim["dual"], dual, dual_error)
        self.holds("dual <= primal", claim["dual"], claim["primal"])

    def penalty(self, intercepts, sums):
        """The terms of the intercepts in primal and dual; rho = 0: free, inf: none."""
        rho, b, z = self.problem.get("intercept_penalty", 0.0), sum(x * x for x in intercepts), sum(x * x for x in sums)
        return (Fraction(rho) * b / 2, z / (2 * Fraction(rho)) if rho else 0) if rho < INF else (INF if b else 0, 0)

    def svm_gap(self, claim, f, rows, t, beta):
        """Hinge and epsilon-insensitive losses and their squares (section 4): f the scores, t the signs or targets."""
        loss, epsilon, C = self.problem["loss"], Fraction(self.problem.get("epsilon", 0)), [self.C[i] for i in rows]
        squared, regression = "squared" in loss, "epsilon" in loss
        residuals = [y - f.F[i] for i, y in zip(rows, map(Fraction, t))]
        losses = [max(0, abs(r) - epsilon if regression else r * y) for r, y in zip(residuals, t)]
        old, beta, most = [beta[i] for i in rows], [], max(map(abs, beta))
        for b, c, y in zip(old, C, t):
            sign, high = 1 if regression or y > 0 else -1, INF if squared else c
            beta.append(sign * min(max(sign * b, -high if regression else 0), high))
        wrong = any(abs(a - b) * 2**40 > (most if squared else c) for a, b, c in zip(old, beta, C))
        beta = beta if self.problem.get("intercept_penalty") else balanced(beta)
        square, cost = f.square(self.spread(rows, beta)), total(b * b / (4 * c) for b, c in zip(beta, C)) if squared else (0, 0)
        ends = self.penalty([f.b], [sum(beta)])
        primal = f.norm / 2 + ends[0] + sum(c * e ** (1 + squared) for c, e in zip(C, losses))
        dual = sum(Fraction(y) * b - epsilon * abs(b) for y, b in zip(t, beta)) - cost[0] - square[0] / 2 - ends[1]
        dual = -INF if wrong else dual if f.definite else INF
        self.gap(claim, primal, f.norm_error + f.error * sum(C), dual, square[1] + cost[1])

    def multiclass_gap(self, claim, fs, rows, B):
        """Crammer and Singer's problem; B holds the duals of every class."""
        y, C, used, Z, wrong = self.y, self.C, {self.y[i] for i in rows}, [[0] * self.n for _ in fs], False
        free = not self.problem["intercept_penalty"]
        losses = {i: 1 + max(f.F[i] for m, f in enumerate(fs) if m != y[i]) - fs[y[i]].F[i] for i in rows}
        for i in rows:
            for m, row in enumerate(Z):  # the intercept of a class without rows has no bound: its duals are left out
                if m != y[i] and not (free and m not in used):
                    wrong |= B[m][i] * 2**40 > C[i]
                    row[i] = min(B[m][i], 0)
            A = -sum(row[i] for row in Z)
            wrong |= (A - C[i]) * 2**40 > C[i]
            if A > C[i]:  # any feasible duals will do: the largest one gives way
                max(Z, key=lambda row: abs(row[i]))[i] += A - C[i]  # noqa: B023
            Z[y[i]][i] = min(A, C[i])
        sums = list(map(sum, Z))
        ends = self.penalty([f.b for f in fs], sums)
        primal = sum(f.norm for f in fs) / 2 + ends[0] + sum(C[i] * max(0, e) for i, e in losses.items())
        dual = sum(Z[y[i]][i] for i in rows) - sum(fs[0].square(row)[0] for row in Z) / 2 - ends[1]
        if free:
            h = min(max(C[i] for i in rows if y[i] == c) for c in used)
            R, P = (root(x)[0] * (1 + Fraction(1, 1 << BITS)) for x in (max(self.squares), primal))
            dual -= sum(map(abs, sums)) / 2 * (primal / h + 2 * R * P)
        self.gap(claim, primal, 0, -INF if wrong else dual, 0)

    def margins(self, claim, f, rows, t, hulls, k):
        """Margin bracket of a hard margin or a perceptron, and its mistake bound; ``hulls``: lists of hull weights."""
        hard, ones, normal = self.problem["loss"] == "hard_margin", self.problem.get("intercept", False), self.problem.get("normalize")
        norm, points, best, error = f.norm + ones * f.b**2, [f.squares[i] + ones for i in rows], (INF, 0), f.error
        q, lengths = [y * f.F[i] for i, y in zip(rows, t)], [Fraction(1)] * len(rows)
        if "proof.centre" in self.tensors:
            c = Linear(self, self.tensors["proof.centre"][0], 0)
            points = [p - 2 * c.F[i] + c.norm for i, p in zip(rows, points)]
        R = root(max(points), f.error)
        if normal:  # products with points of length one, up to ``error``
            bits = 2 * BITS + f.norm.denominator.bit_length()
            error, lengths, R = Fraction(1, 1 << bits), [root(p)[0] or 1 for p in points], (Fraction(any(points)), 0)
            q = [Fraction(int((s * 2**bits) / length), 1 << bits) for s, length in zip(q, lengths)]
        margin = over_root(min(q), norm, error, f.norm_error) if norm else (-INF if hard else -R[0], R[1])
        for weights in hulls if f.definite else ():
            a = [weights[i] if weights[i] * y > 0 or not hard else Fraction(0) for i, y in zip(rows, t)]
            a = [abs(x) * y for x, y in zip(a, t)]
            a = balanced(a) if hard and not self.problem.get("intercept_penalty") else a
            if weight := sum(abs(x) * length for x, length in zip(a, lengths)):
                u, e = root(*f.square(self.spread(rows, a), ones))
                best = min(best, (u / weight, (e + (u / 2 ** (BITS - 2) if normal else 0)) / weight))
        bracket = claim.get("bracket", claim)
        true = self.holds("radius", R[0], bracket["radius"], R[1])
        self.holds("lower", bracket["lower"], *margin)
        if not (true and bracket["upper"] >= bracket["radius"]):
            self.holds("upper", best[0], bracket["upper"], best[1])
        self.say("lower <= upper <= radius", bracket["lower"] <= bracket["upper"] <= bracket["radius"])
        if "bracket" not in claim:
            return
        bound, made, updates = claim["bound"], claim["mistakes"], self.attributes["n_updates_"][k]
        passes = len(self.tensors.get(f"mistakes_per_pass_.{k}", [range(self.attributes.get("n_iter_", 1))])[0]) or 1
        if "_rows_of_stream" in self.attributes and "dual_coef_" not in self.tensors:
            passes = 1
        self.holds("mistakes", made, bound)
        self.say("updates", made == updates, f"{made} mistakes, {updates} updates")
        self.say("examples", claim["examples"] == passes * (len(rows) - self.attributes.get("_n_held_out", 0)))
        self.holds("radius of the bound", R[0], claim["radius"], R[1])
        if bound < INF and self.holds("gamma > 0", 5e-324, claim["gamma"]):
            (length, e), steps = root(norm, f.norm_error) if norm else (1, 0), [self.m[i] for i in rows]
            gamma, deficit, radius = (Fraction(claim[name]) for name in ("gamma", "deficit", "radius"))
            T = passes * sum(max(0, gamma - s / length) for s in q)
            self.holds("deficit", T, deficit, (passes * len(rows) * (2 * gamma * e + error) + T * e) / length)
            start = self.tensors["coef_init_"][k] + self.tensors["intercept_init_"][0][k : k + 1] if "coef_init_" in self.tensors else ()
            most, kappa = Fraction(self.problem["step"]) * max(steps), len(rows) if self.problem["rule"] == "batch" else 1
            a, e = (x / most for x in root(sum(Fraction(v) ** 2 for v in start)))
            found = max(steps) / min(steps) * (kappa * (radius / gamma) ** 2 + 2 * (deficit + a) / gamma)
            self.holds("bound", found, bound, max(steps) / min(steps) * 2 * e / gamma)

    def logistic(self, claim, f, rows, t):
        """Logistic loss; the duals are the model's probabilities, made feasible by one factor."""
        finite, free, c = self.problem["C"] < INF, self.problem["intercept"], [self.C[i] for i in rows]
        s, unit, limit = [f.F[i] * y for i, y in zip(rows, t)], 1 << BITS, 800 + max(map(abs, f.F))
        losses = (logarithm(unit + exp_negative(*abs(x).as_integer_ratio()), unit) - min(0, int(x * unit)) for x in s)
        primal = sum(map(mul, c, losses)) / unit + (f.norm / 2 if finite else 0) if free or not f.b else INF
        scores, weights = [float(f.F[i] - f.b) for i in rows], [float(x) * y for x, y in zip(c, t)]

        def probabilities(b):
            margins = (y * (x + b) for x, y in zip(scores, t))
            return [0.0 if x > 430 else 1 / (1 + math.exp(max(x, -700.0))) for x in margins]

        low, high = (-float(limit), float(limit)) if free else (0.0, 0.0)
        for _ in range(100 * free):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(map(mul, weights, probabilities(middle))) > 0 else (low, middle)
        p = [a * Fraction(x) * y for a, x, y in zip(c, probabilities((low + high) / 2), t)]
        p = balanced(p) if free else p
        v, entropy = self.combination(self.spread(rows, p))[:-1], 0
        for a, x in zip(c, map(abs, p)):
            if 0 < x < a:
                n, d = (x / a).as_integer_ratio()
                entropy -= a * (n * logarithm(n, d) + (d - n) * logarithm(d - n, d)) // d
        cost = (sum(x * x for x in v) / 2, 0) if finite else tuple(x * Fraction(claim["reach"]) for x in self.scaled_norm(v))
        error, dual = 5 * LOG_ERROR * (1 + sum(c)) / unit, Fraction(entropy, unit) - cost[0]
        self.gap(claim, primal, error, max(0, dual), (error + cost[1]) * (claim["dual"] > 0))
        if claim["margin"]:
            self.holds("margin", claim["margin"], *over_root(min(s), f.norm))
        if claim["freed"]:
            g = Linear(self, self.tensors["separating_coef_"][0], self.tensors["separating_intercept_"][0][0])
            signs = [g.F[i] * y for i, y in zip(rows, t)]
            self.say("freed", not finite and min(signs) >= 0 and sum(x > 0 for x in signs) >= claim["freed"])

    def squared_errors(self, claim, f):
        """Ridge, least squares and lasso; the dual point is made of the residuals."""
        lam, m, W, y = Fraction(self.problem["lam"]), self.m, sum(self.m), list(map(Fraction, self.y))
        r = [a - b for a, b in zip(y, f.F)]
        mean = sum(map(mul, m, r)) / W if self.problem["intercept"] else 0
        alpha, primal = [a * (b - mean) for a, b in zip(m, r)], sum(a * b * b for a, b in zip(m, r))
        g, q, e, a = sum(map(mul, alpha, y)), sum(x * (b - mean) for x, b in zip(alpha, r)), 0, self.combination(alpha)[:-1]
        first, second = self.combination(m), self.combination(m, 2)
        spreads = [s - (u * u / W if self.problem["intercept"] else 0) for s, u in zip(second, first)]
        if self.problem["loss"] == "absolute_penalty":
            gap, largest = 2 * (Fraction(claim["primal"]) - Fraction(claim["dual"])), max(map(abs, a))
            h = max(0, min(g / q if q else 0, lam / largest if largest else INF))
            primal = primal / 2 + lam * sum(abs(Fraction(w)) for w in self.tensors["coef_"][0])
            self.gap(claim, primal, 0, h * g - h * h * q / 2, 0)
            unused = sum(lam > h * abs(x) and (lam - h * abs(x)) ** 2 > gap * v for x, v in zip(a, spreads))
            self.holds("unused", claim["unused"], unused)
            return
        if lam:
            q += sum(x * x for x in a) / lam
        else:
            norm, e = (x * Fraction(claim["radius"]) for x in self.scaled_norm(a))
            g, scales = g - norm, map(Fraction, self.tensors["proof.scales"][0])
            self.say("scales", all(s <= 1e-150 or s * s <= v for s, v in zip(scales, spreads)), "at most the spreads")
        self.gap(claim, primal + lam * f.norm, 0, *((g * g / q, 2 * g * e / q) if g > 0 else (0, 0)))

    def file_claims(self, claims, fs):
        """Section 6: objective, margin, status, support and sums of scores."""
        gaps, lows, C = "primal" in claims[0], [c.get("bracket", c).get("lower") for c in claims], self.problem.get("C", 1.0)
        attributes, scores, tol = self.attributes, (self.model["data"] or {}).get("scores"), self.model["parameters"].get("tol", 1e-6)
        if "objective_" in attributes:
            expected = [c["primal"] if gaps else 0.5 / (x * x) if x > 0 and x * x else INF for c, x in zip(claims, lows)]
            self.say("objective_", attributes["objective_"] == expected, f"{attributes['objective_']} = {expected}")
        if "margin_" in attributes and gaps:
            pairs = zip(attributes["margin_"], fs)
            near = [abs(Fraction(x) ** 2 * f.norm - 1) <= 2e-9 if x < INF else not f.norm for x, f in pairs]
            self.say("margin_", all(near), "1 / ||w|| up to 1e-9")
        elif "margin_" in attributes:
            hard = self.problem["loss"] == "hard_margin"
            self.say("margin_", attributes["margin_"] == [max(0.0, x) if hard else x for x in lows])
        if attributes.get("status_") == "solved" and gaps:
            sizes = [(c["primal"] - c["dual"], c["primal"], c["dual"]) for c in claims]
            done = all(gap <= (tol + 1e-9) * p or (d <= 0 and gap <= 1e-9 * C) for gap, p, d in sizes)
            self.say("status_", done or ("NOT CHECKED" if "lam" in self.problem else False), "gap <= tol primal")
        if "dual_coef_" in self.tensors and "support_" in self.tensors and "kernel" not in self.problem:
            used = [i for i, column in enumerate(zip(*self.tensors["dual_coef_"])) if any(column)]
            self.say("support_", sorted(self.tensors["support_"][0]) == used, "rows with a dual that is not zero")
        for k, (f, claimed) in enumerate(zip(fs, scores["sums"] if scores else ())):
            h = [1 + i % 3 for i in range(scores["rows"])]
            error = abs(Fraction(claimed) - sum(map(mul, h, f.F)))
            self.holds(f"sum of scores {k}", error, sum(map(mul, h, f.sizes)) / 2**36, f.error * sum(h))

    def tasks(self):
        """For every task its signs or targets, scores and duals."""
        tensors, kernel, pairs, K = self.tensors, self.problem.get("kernel"), list(combinations(range(self.k), 2)), {}
        signs = [[1 if c == a else -1 for c in self.y] for a in range(self.k)] or [self.y]
        if self.k == 2:
            signs = signs[1:]
        elif self.k and self.model["class"] == "SVC":
            signs = [[(c == a) - (c == b) for c in self.y] for a, b in pairs]
        intercepts = tensors["intercept_"][0] if "intercept_" in tensors else self.attributes["intercept_"]
        for task, t in enumerate(signs):
            if kernel is None:
                f = Linear(self, tensors["coef_"][task], intercepts[task])
                yield t, f, list(map(Fraction, tensors["dual_coef_"][task])) if "dual_coef_" in tensors else [Fraction(0)] * self.n
                continue
            support, (duals, *others) = tensors["support_"][0], tensors.get("_duals") or tensors["dual_coef_"][task:]
            if self.k > 2 and self.model["class"] == "SVC":
                (a, b), rows = pairs[task], [duals, *others]
                duals = [rows[b - 1 if self.y[i] == a else a][j] * abs(t[i]) for j, i in enumerate(support)]
            beta, b = {i: Fraction(x) for i, x in zip(support, duals) if x}, Fraction(intercepts[task])
            if self.problem["loss"] == "perceptron":
                b = sum(beta.values()) if self.problem["intercept"] else Fraction(0)
                size = 1 + sum(map(abs, beta.values()))
                self.holds("intercept_", abs(b - Fraction(intercepts[task])), size / 10**9)
            yield t, Expansion(self, kernel, beta, b, K), self.spread(beta, beta.values())

    def run(self):
        """All claims of the certificate and of the file."""
        certificate, loss, kernel = self.attributes.get("certificate_"), self.problem["loss"], self.problem.get("kernel", self)
        if not self.same or certificate is None:
            return
        if kernel is not self:
            large = len(self.tensors["support_"][0]) * self.n > KERNEL_LIMIT
            if large or kernel is None or kernel["name"] == "sigmoid":
                self.say("certificate", "NOT CHECKED", "too many kernel values" if large else "precomputed or sigmoid kernel")
                return
            rows = [(list(self.columns[i]), list(self.values[i])) for i in self.tensors["support_"][0]]
            self.say("support vectors", support_vectors(self.tensors) == rows, "they are rows of the data")
        claims = [c for _, c in certificate["of"]] if "of" in certificate else [certificate]
        tasks = list(self.tasks())
        fs, counted = [f for _, f, _ in tasks], [i for i, m in enumerate(self.m) if m]
        if loss == "crammer_singer":
            self.multiclass_gap(claims[0], fs, counted, [beta for _, _, beta in tasks])
        for k, (claim, (t, f, beta)) in enumerate(zip(claims, tasks) if loss != "crammer_singer" else ()):
            self.prefix = f"task {k}: " if len(tasks) > 1 else ""
            rows = [i for i in counted if t[i] or not self.k]
            t = [t[i] for i in rows]
            if loss in ("hard_margin", "perceptron", "margin"):
                hulls = [list(map(Fraction, row)) for row in self.tensors.get("hull_weights_", ())]
                self.margins(claim, f, rows, t, [beta, *hulls], k)
            elif loss == "logistic":
                self.logistic(claim, f, rows, t)
            elif "lam" in self.problem:
                self.squared_errors(claim, f)
            else:
                self.svm_gap(claim, f, rows, t, beta)
        self.prefix = ""
        self.file_claims(claims, fs)


def support_vectors(tensors):
    """Rows of ``support_vectors_``, dense or compressed, as columns and values without zeros."""
    if "support_vectors_" in tensors:
        pairs = map(enumerate, tensors["support_vectors_"])
    else:
        data, columns, ends = (tensors[f"support_vectors_.{part}"][0] for part in ("data", "indices", "indptr"))
        pairs = (zip(columns[a:b], data[a:b]) for a, b in pairwise(ends))
    return [tuple(map(list, zip(*((j, v) for j, v in row if v)))) or ([], []) for row in pairs]


def check_model(model, data, weights=None, target=None, zero_based=False):
    """The answers (claim, verdict, detail) on a model file."""
    try:
        content, tensors = read_model(Path(model).read_bytes())
        rows = read_rows(data, content["attributes"].get("feature_names_in_", ()), target, 0 if zero_based else 1)
        check = Checker(content, tensors, rows, lines_of(weights) if weights else ())
        check.run()
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, struct.error) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return check


def main():
    """Print the answers; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("model", "data", "--weights", "--target"):
        parser.add_argument(name)
    parser.add_argument("--zero-based", action="store_true")
    try:
        answers = check_model(**vars(parser.parse_args()))
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for claim, verdict, detail in answers:
        print(f"{verdict:12}{claim}: {detail}")
    return int("FALSE" in (verdict for _, verdict, _ in answers))


if __name__ == "__main__":
    sys.exit(main())
