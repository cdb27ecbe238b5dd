"""Check what a model file of maxmargin claims, from the training data alone and in exact arithmetic.

    python maxmargin_check.py MODEL DATA [--weights FILE] [--target COLUMN] [--zero-based]

The file format, the problems and the claims are those of docs/proof-format.md; nothing else of the package is used. Every
float64 is an integer times a power of two: points are integers over one denominator D, and objectives, duals, margins and
hull points are exact fractions. Only square roots, and exp and log for the RBF kernel and logistic regression, are rounded,
with a bound on the error near 2**-160. The answer to every claim is TRUE, FALSE with the two numbers, or NOT CHECKED with
the reason. Exit code: 0 if no claim is false, 1 if one is, 2 if a file cannot be read or its checksum is wrong.
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
    """A JSON object without duplicate keys: a float, a dictionary, or the object itself."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Unreadable("a key of a JSON object occurs twice")
    special = {"float": float.fromhex, "pairs": decode}.get(next(iter(value), "") if len(value) == 1 else "")
    return special(*value.values()) if special else value


def read_model(file):
    """Section 1: the content and the tensors of a model file, each tensor a list of rows."""
    strict = {"object_pairs_hook": decode, "parse_float": int, "parse_constant": int}  # int refuses both
    start, tensors, end = 8 + int.from_bytes(file[:8], "little"), {}, 0
    header = json.loads(file[8:start].decode(), **strict)
    model = json.loads(header.pop("__metadata__")["maxmargin"], **strict)
    if set(model) != CONTENT or (model["format"], model["version"]) != ("maxmargin model", 2):
        raise Unreadable("not a model file of version 2")
    digits = model["sha256"].encode()
    found = hashlib.sha256(file.replace(digits, b"0" * 64, 1)).hexdigest().encode()
    if file[:start].count(digits) != 1 or found != digits:
        raise Unreadable("the checksum is not that of the file")
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (begin, stop), shape = entry["data_offsets"], entry["shape"]
        form = f"<{math.prod(shape)}{dict(F64='d', F32='f', I64='q', I32='i')[entry['dtype']]}"
        if begin != end or stop - begin != struct.calcsize(form) or len(entry) != 3 or len(shape) not in (1, 2):
            raise Unreadable(f"tensor {name}: an overlap, a gap or a wrong length")
        values, end, width = struct.unpack_from(form, file, start + begin), stop, shape[-1]
        tensors[name] = [values[k * width : (k + 1) * width] for k in range(shape[0] if len(shape) > 1 else 1)]
        if not all(map(math.isfinite, values)):
            raise Unreadable(f"tensor {name} holds nan or infinity")
    if start + end != len(file):
        raise Unreadable("bytes follow the last tensor")
    return model, tensors


def lines_of(path):
    """The lines of a text file, compressed or not."""
    with {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix, open)(path, "rt", encoding="utf-8") as file:
        yield from file


def read_rows(path, names, target, first):
    """Section 2: label, columns and values of every row of a CSV file, or of svmlight text."""
    if ".csv" in Path(path).suffixes:
        table = csv.DictReader(lines_of(path), strict=True)
        others = [target] if target else [name for name in table.fieldnames or () if name not in names]
        if len(others) != 1 or len({*table.fieldnames}) < len(table.fieldnames):
            raise Unreadable("which column is the target? Name it by --target")
        yield from ((row[others[0]], range(len(names)), [float(row[name]) for name in names]) for row in table)
        return
    for words in (line.partition("#")[0].split() for line in lines_of(path)):
        if words:
            pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
            yield words[0], [int(j) - first for j, _ in pairs], [float(v) for _, v in pairs]


def integers(values):
    """Integers N and one denominator D with values[i] = N[i] / D."""
    ratios = [v.as_integer_ratio() for v in values]
    D = math.lcm(*{d for _, d in ratios})
    return [n * (D // d) for n, d in ratios], D


def total(values):
    """A sum of fractions and a bound on its error: exact unless the denominators are many and odd."""
    terms = [v * 2**4096 for v in values]
    return Fraction(sum(map(int, terms)), 2**4096), Fraction(sum(v != int(v) for v in terms), 2**4096)


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
    """The repair to sum zero: numbers of the heavier sign are multiplied by the quotient of the two sums."""
    plus, minus = sum(v for v in values if v > 0), -sum(v for v in values if v < 0)
    factor = min(plus, minus) / max(plus, minus) if plus or minus else 1
    return [v * factor if (v > 0) == (plus > minus) else v for v in values]


def exp_negative(n, d):
    """2**BITS exp(-n/d) for n/d >= 0, up to EXP_ERROR: exp(-t) is the power 2**16 of exp(-t / 2**16)."""
    t, result, term = (n << BITS) // d >> 16, 1 << BITS, 1 << BITS
    if t >> BITS - 16 >= 128:  # exp(-128) < 2**-184
        return 0
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
        raise Unreadable("math.log is not accurate on this machine")
    r += (r * r * r >> 2 * BITS) // 3 - (r * r >> BITS + 1) - (g[0] << BITS) // g[1]
    return r + k * LOG_2 if k else r


LOG_2 = -logarithm(1, 2)


class Linear:
    """Coefficients of one task: exact scores F_i = w·x_i + b, and ``sizes``, the sums of their absolute terms."""

    definite, error, norm_error = True, 0, 0

    def __init__(self, data, w, b):
        self.data, self.b, self.squares, (W, D) = data, Fraction(b), data.squares, integers([*w, b])
        terms = [list(map(mul, v, map(W.__getitem__, j))) for j, v in data.X]
        self.F, self.sizes = ([Fraction(sum(map(f, row)), D * data.D) for row in terms] for f in (int, abs))
        self.norm = Fraction(sum(map(mul, W[:-1], W)), D * D)

    def square(self, beta, ones=False):
        """The squared norm of the sum of beta_i x_i, or of beta_i (x_i, 1), and a bound on its error."""
        v, D = integers(self.data.combination(beta)[: None if ones else -1])
        return Fraction(sum(map(mul, v, v)), D * D), 0


class Expansion:
    """The same for w = sum_j beta_j phi(x_j); K holds columns of the kernel matrix as integers over ``unit``."""

    def __init__(self, data, kernel, beta, b, K):
        name, power, D, rho = kernel["name"], int(kernel.get("degree", 1)), data.D**2, max(data.squares)
        gamma, coef0 = (Fraction(kernel.get(key, 0.0)) for key in ("gamma", "coef0"))
        scale, shift, common = (
            gamma.numerator * coef0.denominator,
            coef0.numerator * gamma.denominator * D,
            gamma.denominator * D,
        )
        value, self.unit, largest, error = {
            "rbf": (
                lambda _, distance: exp_negative(gamma.numerator * distance, common),
                1 << BITS,
                1 + gamma * rho,
                EXP_ERROR,
            ),
            "poly": (
                lambda dot, _: (scale * dot + shift) ** power,
                (common * coef0.denominator) ** power,
                (gamma * rho + abs(coef0)) ** power,
                0,
            ),
            "linear": (lambda dot, _: dot, D, rho, 0),
        }[name]
        lengths, S, (betas, Db) = (
            [int(s * D) for s in data.squares],
            sum(map(abs, beta.values())),
            integers(beta.values()),
        )
        for j in beta.keys() - K.keys():
            z = dict(zip(*data.X[j])) | {data.d: 0}
            dots = (sum(map(mul, v, map(z.get, columns, repeat(0)))) for columns, v in data.X)
            K[j] = [value(dot, s + lengths[j] - 2 * dot) for dot, s in zip(dots, lengths)]
        columns = zip(*(K[j] for j in beta)) if beta else repeat((), data.n)
        self.F, self.sizes = (
            [Fraction(sum(map(mul, betas, row)), Db * self.unit) + b for row in columns],
            repeat(abs(b) + largest * S),
        )
        self.K, self.b, self.definite, self.k_error = K, b, gamma >= 0 and coef0 >= 0, Fraction(error, self.unit)
        self.error, self.squares = self.k_error * S, [Fraction(value(s, 0), self.unit) for s in lengths]
        self.norm, self.norm_error = self.square([beta.get(i, 0) for i in range(data.n)])

    def square(self, beta, ones=False):
        used = [i for i, b in enumerate(beta) if b]
        B, D = integers([beta[i] for i in used])
        value = sum(b * sum(c * self.K[j][i] for j, c in zip(used, B)) for i, b in zip(used, B))
        return Fraction(value, D * D * self.unit) + ones * sum(beta) ** 2, self.k_error * sum(map(abs, beta)) ** 2


class Checker(list):
    """The answers (claim, verdict, detail) on one model; points (x, 1) as integers X over D."""

    def __init__(self, model, tensors, rows, weights):
        self.model, self.problem, self.attributes, self.tensors = model, model["problem"], model["attributes"], tensors
        self.d, self.prefix, data, self.y, self.columns, self.values = (
            self.attributes["n_features_in_"],
            "",
            model["data"] or {},
            [],
            [],
            [],
        )
        textual = self.attributes.get("classes_.type", "").startswith(("object", "text"))
        codes = {label: code for code, label in enumerate(self.attributes.get("classes_", ()))}
        for label, j, v in rows:
            if j and not (
                j[0] >= 0 and j[-1] < self.d and all(map(int.__lt__, j, j[1:])) and all(map(math.isfinite, v))
            ):
                raise Unreadable(f"row {len(self.y) + 1}: nan, or columns that do not ascend from 1 to {self.d}")
            if not (textual and label in codes):
                label = int(label) if label.lstrip("+-").isdigit() else float(label) + 0.0
            self.y.append((codes[str(label) if textual and label not in codes else label]) if codes else float(label))
            self.columns.append(array("Q", [a for a, b in zip(j, v) if b] if 0.0 in v else j))
            self.values.append(array("d", [b for b in v if b] if 0.0 in v else v))
        self.n, self.k, s = len(self.y), len(codes), array("d", map(float, weights))
        if len(s) not in (0, self.n) or not all(0 <= x < INF for x in chain(s, map(abs, self.y))):
            raise Unreadable("as many weights as rows, none negative, and finite targets are needed")
        sizes = array("Q", [self.n, self.d, *map(len, self.columns)])  # section 3
        parts = {
            "X": [sizes, *self.columns, *self.values],
            "y": [array("Q" if codes else "d", self.y)],
            "weights": [s] * bool(s),
        }
        found = {
            name: part and hashlib.sha256(b"".join(map(bytes, part))).hexdigest() or None
            for name, part in parts.items()
        }
        self.same = not data or self.say(
            "data", found == {name: data[name] for name in found}, "hashes of X, y and weights"
        )
        g = data.get("class_factors")
        self.m = [Fraction(a * g[c] if g else a) for a, c in zip(s or [1.0] * self.n, self.y)]
        self.C = [Fraction(self.problem["C"] * float(x)) if self.problem.get("C", INF) < INF else x for x in self.m]
        values, self.D = integers(list(chain(*self.values)))
        rest = iter(values)
        self.X = [([*j, self.d], [*islice(rest, len(j)), self.D]) for j in self.columns]
        self.squares = [Fraction(sum(map(mul, v[:-1], v)), self.D**2) for _, v in self.X]

    def combination(self, factors, power=1):
        """The sums over i of factors_i (x_ij, 1)**power."""
        (B, D), sums = integers(factors), [0] * (self.d + 1)
        for factor, (columns, values) in zip(B, self.X):
            for j, v in zip(columns, values) if factor else ():
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
        """Hinge and epsilon-insensitive losses and their squares: f the scores, t the signs or targets."""
        loss, epsilon, C = self.problem["loss"], Fraction(self.problem.get("epsilon", 0)), [self.C[i] for i in rows]
        squared, regression, old, t = (
            "squared" in loss,
            "epsilon" in loss,
            [beta[i] for i in rows],
            list(map(Fraction, t)),
        )
        losses = (max(0, abs(y - f.F[i]) - epsilon if regression else 1 - y * f.F[i]) for i, y in zip(rows, t))
        signs, ends, most = (
            [1 if regression or y > 0 else -1 for y in t],
            [INF if squared else c for c in C],
            max(map(abs, beta)),
        )
        beta = [s * min(max(s * b, -end if regression else 0), end) for b, s, end in zip(old, signs, ends)]
        wrong = any(abs(a - b) * 2**40 > (most if squared else c) for a, b, c in zip(old, beta, C))
        beta = beta if self.problem.get("intercept_penalty") else balanced(beta)
        square, (b_primal, b_dual) = f.square(self.spread(rows, beta)), self.penalty([f.b], [sum(beta)])
        cost = total(b * b / (4 * c) for b, c in zip(beta, C)) if squared else (0, 0)
        primal = f.norm / 2 + b_primal + sum(c * e ** (1 + squared) for c, e in zip(C, losses))
        dual = sum(y * b - epsilon * abs(b) for y, b in zip(t, beta)) - cost[0] - square[0] / 2 - b_dual
        dual = -INF if wrong or not f.definite else dual
        self.gap(claim, primal, f.norm_error + f.error * sum(C), dual, square[1] + cost[1])

    def multiclass_gap(self, claim, fs, rows, B):
        """Crammer and Singer's problem; B holds the duals of every class."""
        y, C, used, Z, wrong = self.y, self.C, {self.y[i] for i in rows}, [[0] * self.n for _ in fs], False
        free = not self.problem["intercept_penalty"]
        for i in rows:
            for m, row in enumerate(Z):  # the intercept of a class without rows has no bound: its duals are left out
                if m != y[i] and (m in used or not free):
                    wrong |= B[m][i] * 2**40 > C[i]
                    row[i] = min(B[m][i], 0)
            A = -sum(row[i] for row in Z)
            wrong |= (A - C[i]) * 2**40 > C[i]
            min(Z, key=lambda row: row[i])[i] += max(0, A - C[i])  # any feasible duals will do
            Z[y[i]][i] = min(A, C[i])
        sums = list(map(sum, Z))
        (b_primal, b_dual), norms = self.penalty([f.b for f in fs], sums), sum(f.norm for f in fs) / 2
        losses = (1 + max(f.F[i] for m, f in enumerate(fs) if m != y[i]) - fs[y[i]].F[i] for i in rows)
        primal = norms + b_primal + sum(C[i] * max(0, e) for i, e in zip(rows, losses))
        dual = sum(Z[y[i]][i] for i in rows) - sum(fs[0].square(row)[0] for row in Z) / 2 - b_dual
        if free:
            h = min(max(C[i] for i in rows if y[i] == c) for c in used)
            R, P = (root(x)[0] * (1 + Fraction(1, 1 << BITS)) for x in (max(self.squares), primal))
            dual -= sum(map(abs, sums)) / 2 * (primal / h + 2 * R * P)
        self.gap(claim, primal, 0, -INF if wrong else dual, 0)

    def margins(self, claim, f, rows, t, hulls, k):
        """Margin bracket of a hard margin or a perceptron, and its mistake bound; ``hulls``: lists of hull weights."""
        hard, ones, best, error = (
            self.problem["loss"] == "hard_margin",
            self.problem.get("intercept", False),
            (INF, 0),
            f.error,
        )
        norm, points, normal = (
            f.norm + ones * f.b**2,
            [f.squares[i] + ones for i in rows],
            self.problem.get("normalize"),
        )
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
            a = [abs(weights[i]) * y * (not hard or weights[i] * y > 0) for i, y in zip(rows, t)]
            a = balanced(a) if hard and not self.problem.get("intercept_penalty") else a
            if weight := sum(abs(x) * length for x, length in zip(a, lengths)):
                u, e = root(*f.square(self.spread(rows, a), ones))
                best = min(best, (u / weight, (e + (u / 2 ** (BITS - 2) if normal else 0)) / weight))
        inner = claim.get("bracket", claim)
        true = self.holds("radius", R[0], min(claim["radius"], inner["radius"]), R[1])
        self.holds("lower", inner["lower"], *margin)
        if not (true and inner["upper"] >= inner["radius"]):
            self.holds("upper", best[0], inner["upper"], best[1])
        self.say("lower <= upper <= radius", inner["lower"] <= inner["upper"] <= inner["radius"])
        if inner is claim:
            return
        stream = "_rows_of_stream" in self.attributes and "dual_coef_" not in self.tensors
        history = self.tensors.get(f"mistakes_per_pass_.{k}", [range(self.attributes.get("n_iter_", 1))])
        passes, bound, updates = 1 if stream else len(history[0]) or 1, claim["bound"], self.attributes["n_updates_"][k]
        self.say("mistakes", updates == claim["mistakes"] <= bound, f"{updates} = {claim['mistakes']} <= {bound!r}")
        self.say("examples", claim["examples"] == passes * (len(rows) - self.attributes.get("_n_held_out", 0)))
        if bound < INF and self.holds("gamma > 0", 5e-324, claim["gamma"]):
            (length, e), m = root(norm, f.norm_error) if norm else (1, 0), [self.m[i] for i in rows]
            gamma, deficit, radius = (Fraction(claim[name]) for name in ("gamma", "deficit", "radius"))
            T = passes * sum(max(0, gamma - s / length) for s in q)
            self.holds("deficit", T, deficit, (passes * len(rows) * (2 * gamma * e + error) + T * e) / length)
            start = [
                *self.tensors.get("coef_init_", [()] * (k + 1))[k],
                *self.tensors.get("intercept_init_", [()])[0][k : k + 1],
            ]
            a, e = (x / (Fraction(self.problem["step"]) * max(m)) for x in root(sum(Fraction(v) ** 2 for v in start)))
            kappa, ratio = len(rows) if self.problem["rule"] == "batch" else 1, max(m) / min(m)
            self.holds(
                "bound",
                ratio * (kappa * (radius / gamma) ** 2 + 2 * (deficit + a) / gamma),
                bound,
                ratio * 2 * e / gamma,
            )

    def logistic(self, claim, f, rows, t):
        """Logistic loss; the duals are the model's probabilities, made feasible by one factor."""
        finite, free, c, unit = self.problem["C"] < INF, self.problem["intercept"], [self.C[i] for i in rows], 1 << BITS
        s, scores = [f.F[i] * y for i, y in zip(rows, t)], [float(f.F[i] - f.b) for i in rows]
        losses = (logarithm(unit + exp_negative(*abs(x).as_integer_ratio()), unit) - min(0, int(x * unit)) for x in s)
        primal = sum(map(mul, c, losses)) / unit + (f.norm / 2 if finite else 0) if free or not f.b else INF
        high = 800.0 + max(map(abs, scores)) if free else 0.0
        low, weights = -high, [float(x) * y for x, y in zip(c, t)]
        for _ in range(100):  # bisection for the intercept at which the probabilities balance
            b = (low + high) / 2
            margins = (y * (x + b) for x, y in zip(scores, t))
            p = [0.0 if x > 430 else 1 / (1 + math.exp(max(x, -700.0))) for x in margins]
            low, high = (b, high) if sum(map(mul, weights, p)) > 0 else (low, b)
        p = [a * Fraction(x) * y for a, x, y in zip(c, p, t)]
        p, entropy = balanced(p) if free else p, 0
        for a, (n, d) in ((a, abs(x / a).as_integer_ratio()) for a, x in zip(c, p) if 0 < abs(x) < a):
            entropy -= a * (n * logarithm(n, d) + (d - n) * logarithm(d - n, d)) // d
        v, error = self.combination(self.spread(rows, p))[:-1], 5 * LOG_ERROR * (1 + sum(c)) / unit
        cost = (
            (sum(x * x for x in v) / 2, 0)
            if finite
            else tuple(x * Fraction(claim["reach"]) for x in self.scaled_norm(v))
        )
        self.gap(
            claim, primal, error, max(0, Fraction(entropy, unit) - cost[0]), (error + cost[1]) * (claim["dual"] > 0)
        )
        if claim["margin"]:
            self.holds("margin", claim["margin"], *over_root(min(s), f.norm))
        if claim["freed"]:
            g = Linear(self, self.tensors["separating_coef_"][0], self.tensors["separating_intercept_"][0][0])
            signs = [g.F[i] * y for i, y in zip(rows, t)]
            self.say("freed", not finite and min(signs) >= 0 and sum(x > 0 for x in signs) >= claim["freed"])

    def squared_errors(self, claim, f):
        """Ridge, least squares and lasso; the dual point is made of the residuals."""
        lam, m, W, y, free = (
            Fraction(self.problem["lam"]),
            self.m,
            sum(self.m),
            list(map(Fraction, self.y)),
            self.problem["intercept"],
        )
        r = [a - b for a, b in zip(y, f.F)]
        mean = sum(map(mul, m, r)) / W if free else 0
        alpha, primal = [a * (b - mean) for a, b in zip(m, r)], sum(a * b * b for a, b in zip(m, r))
        g, q, a = sum(map(mul, alpha, y)), sum(x * (b - mean) for x, b in zip(alpha, r)), self.combination(alpha)[:-1]
        spreads = [s - (u * u / W if free else 0) for s, u in zip(self.combination(m, 2), self.combination(m))]
        if self.problem["loss"] == "absolute_penalty":
            gap, largest = 2 * (Fraction(claim["primal"]) - Fraction(claim["dual"])), max(map(abs, a))
            h = max(0, min(g / q if q else 0, lam / largest if largest else INF))
            primal = primal / 2 + lam * sum(abs(Fraction(w)) for w in self.tensors["coef_"][0])
            self.gap(claim, primal, 0, h * g - h * h * q / 2, 0)
            unused = sum(lam > h * abs(x) and (lam - h * abs(x)) ** 2 > gap * v for x, v in zip(a, spreads))
            return self.holds("unused", claim["unused"], unused)
        norm, e = (0, 0) if lam else (x * Fraction(claim["radius"]) for x in self.scaled_norm(a))
        g, q = g - norm, q + (sum(x * x for x in a) / lam if lam else 0)
        pairs = zip(map(Fraction, self.tensors.get("proof.scales", [()])[0]), spreads)
        self.say("scales", all(s <= 1e-150 or s * s <= v for s, v in pairs), "at most the spreads of the columns")
        return self.gap(claim, primal + lam * f.norm, 0, *((g * g / q, 2 * g * e / q) if g > 0 else (0, 0)))

    def file_claims(self, claims, fs):
        """Section 6: objective, status, support and sums of scores."""
        gaps, scores, C = "primal" in claims[0], (self.model["data"] or {}).get("scores"), self.problem.get("C", 1.0)
        if "objective_" in self.attributes and gaps:
            self.say("objective_", self.attributes["objective_"] == [c["primal"] for c in claims], "the primal values")
        if self.attributes.get("status_") == "solved" and gaps:
            tol, sizes = self.model["parameters"].get("tol", 1e-6) + 1e-9, [(c["primal"], c["dual"]) for c in claims]
            done = all(p - d <= tol * p or (d <= 0 and p - d <= 1e-9 * C) for p, d in sizes)
            self.say("status_", done or ("NOT CHECKED" if "lam" in self.problem else False), "gap <= tol primal")
        if "dual_coef_" in self.tensors and "support_" in self.tensors and "kernel" not in self.problem:
            used = [i for i, column in enumerate(zip(*self.tensors["dual_coef_"])) if any(column)]
            self.say("support_", sorted(self.tensors["support_"][0]) == used, "rows with a dual that is not zero")
        for k, (f, claimed) in enumerate(zip(fs, scores["sums"] if scores else ())):
            h = [1 + i % 3 for i in range(scores["rows"])]
            error = abs(Fraction(claimed) - sum(map(mul, h, f.F)))
            self.holds(f"sum of scores {k}", error, sum(map(mul, h, f.sizes)) / 2**36, f.error * sum(h))

    def tasks(self):
        """Section 4: for every task its signs or targets, scores and duals."""
        tensors, kernel, pairs, K = self.tensors, self.problem.get("kernel"), list(combinations(range(self.k), 2)), {}
        signs = [[1 if c == a else -1 for c in self.y] for a in range(self.k)][self.k == 2 :] or [self.y]
        if self.k > 2 and self.model["class"] == "SVC":
            signs = [[(c == a) - (c == b) for c in self.y] for a, b in pairs]
        intercepts = tensors["intercept_"][0] if "intercept_" in tensors else self.attributes["intercept_"]
        for task, t in enumerate(signs):
            if kernel is None:
                duals = tensors["dual_coef_"][task] if "dual_coef_" in tensors else [0] * self.n
                yield t, Linear(self, tensors["coef_"][task], intercepts[task]), list(map(Fraction, duals))
                continue
            support, duals, b = (
                tensors["support_"][0],
                tensors.get("_duals") or tensors["dual_coef_"][task:],
                Fraction(intercepts[task]),
            )
            row = [
                0
                if len(signs) < 2 or "_duals" not in tensors
                else pairs[task][1] - 1
                if self.y[i] == pairs[task][0]
                else pairs[task][0]
                for i in support
            ]
            beta = {
                i: x for j, i in enumerate(support) if (x := Fraction(duals[row[j]][j]) * (abs(t[i]) if self.k else 1))
            }
            if self.problem["loss"] == "perceptron":
                found, b = b, sum(beta.values()) if self.problem["intercept"] else Fraction(0)
                self.holds("intercept_", abs(b - found), (1 + sum(map(abs, beta.values()))) / 10**9)
            yield t, Expansion(self, kernel, beta, b, K), self.spread(beta, beta.values())

    def run(self):
        """All claims of the certificate and of the file."""
        certificate, loss, kernel = (
            self.attributes.get("certificate_"),
            self.problem["loss"],
            self.problem.get("kernel", {"name": ""}),
        )
        if not self.same or certificate is None:
            return
        if "kernel" in self.problem:
            large = len(self.tensors["support_"][0]) * self.n > KERNEL_LIMIT
            if large or kernel is None or kernel["name"] == "sigmoid":
                self.say(
                    "certificate", "NOT CHECKED", "too many kernel values" if large else "precomputed or sigmoid kernel"
                )
                return
            rows = [list(zip(self.columns[i], self.values[i])) for i in self.tensors["support_"][0]]
            self.say("support vectors", support_vectors(self.tensors) == rows, "they are rows of the data")
        claims = [c for _, c in certificate["of"]] if "of" in certificate else [certificate]
        tasks, counted = list(self.tasks()), [i for i, m in enumerate(self.m) if m]
        for k, (claim, (t, f, beta)) in enumerate(zip(claims, tasks)):
            self.prefix = f"task {k}: " if len(claims) > 1 else ""
            rows = [i for i in counted if t[i] or not self.k]
            t = [t[i] for i in rows]
            if loss == "crammer_singer":
                self.multiclass_gap(claim, [f for _, f, _ in tasks], rows, [duals for _, _, duals in tasks])
            elif loss in ("hard_margin", "perceptron", "margin"):
                hulls = [list(map(Fraction, row)) for row in self.tensors.get("hull_weights_", ())]
                self.margins(claim, f, rows, t, [beta, *hulls], k)
            elif loss == "logistic":
                self.logistic(claim, f, rows, t)
            elif "lam" in self.problem:
                self.squared_errors(claim, f)
            else:
                self.svm_gap(claim, f, rows, t, beta)
        self.prefix = ""
        self.file_claims(claims, [f for _, f, _ in tasks])


def support_vectors(tensors):
    """Rows of ``support_vectors_``, dense or compressed, as pairs of column and value without zeros."""
    if "support_vectors_" in tensors:
        return [[(j, v) for j, v in enumerate(row) if v] for row in tensors["support_vectors_"]]
    data, columns, ends = (tensors[f"support_vectors_.{part}"][0] for part in ("data", "indices", "indptr"))
    return [[(j, v) for j, v in zip(columns[a:b], data[a:b]) if v] for a, b in pairwise(ends)]


def check_model(model, data, weights=None, target=None, zero_based=False):
    """The answers (claim, verdict, detail) on a model file."""
    try:
        content, tensors = read_model(Path(model).read_bytes())
        rows = read_rows(data, content["attributes"].get("feature_names_in_", ()), target, 0 if zero_based else 1)
        check = Checker(content, tensors, rows, lines_of(weights) if weights else ())
        check.run()
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        struct.error,
    ) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return check


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("model", "data", "--weights", "--target"):
        parser.add_argument(name)
    parser.add_argument("--zero-based", action="store_true")
    try:
        answers = check_model(**vars(parser.parse_args()))
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(*(f"{verdict:12}{claim}: {detail}" for claim, verdict, detail in answers), sep="\n")
    return int("FALSE" in (verdict for _, verdict, _ in answers))


if __name__ == "__main__":
    sys.exit(main())
