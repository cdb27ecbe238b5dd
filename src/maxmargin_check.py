"""Check what a model file of maxmargin claims, from the training data alone and in exact arithmetic.

    python maxmargin_check.py MODEL DATA [--weights FILE] [--target COLUMN] [--zero-based]

Sections are those of docs/proof-format.md. Every float64 is an integer times a power of two, so that sums of products
are exact; only square roots, exp and log are rounded, with a bound. Exit code: 1 if a claim is FALSE, 2 if a file cannot
be read, else 0.
"""

import argparse
import csv
import gzip
import hashlib
import json
import lzma
import math
from array import array
from decimal import Context, Decimal
from fractions import Fraction
from itertools import chain, combinations, islice, pairwise, repeat
from operator import mul
from pathlib import Path

Unreadable, INF, DECIMAL = ValueError, math.inf, Context(prec=38)
EXP, LOG = DECIMAL.exp, DECIMAL.ln  # rounded correctly to 38 digits
BITS, TINY = 112, Fraction(1, 2**1000)  # fraction bits of square roots, exp and log; a claim has 53
ERROR = Fraction(1 << 6, 1 << BITS)  # of exp and log, whose size is below 800: rounded thrice
KERNEL_LIMIT = 4_000_000  # kernel values: about a minute
CONTENT = {"sha256", "format", "version", "class", "parameters", "problem", "data", "attributes", "column_major"}
CHECKS = dict.fromkeys(("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"), "svm")
CHECKS |= dict.fromkeys(("hard_margin", "margin", "perceptron", "elastic_net_perceptron"), "margins")
CHECKS |= dict.fromkeys(("squared_error", "absolute_penalty"), "squared_errors")
CHECKS |= {"crammer_singer": "multiclass", "logistic": "logistic"}  # the losses, and the methods that decide them
COUNTS = "outside on_margin inside misclassified within_epsilon on_boundary beyond_epsilon objective_"
BAD_FILE = OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError
OTHERS = "margin_ status_ fit_status_ class_weight_ total_weight_ degrees_of_freedom_ column_means_ s2_ coef_factor_"


def need(true, message):
    if not true:
        raise Unreadable(message)


def decode(pairs):  # a JSON object without duplicate keys: a float, a dictionary, or the object itself
    value = dict(pairs)
    need(len(value) == len(pairs), "a key of a JSON object occurs twice")
    special = {"float": float.fromhex, "pairs": decode}.get(next(iter(value), "") if len(value) == 1 else "")
    return special(*value.values()) if special else value


def read_model(file):  # section 1: the content and the tensors of a model file, each tensor a list of rows
    strict = {"object_pairs_hook": decode, "parse_float": int, "parse_constant": int}  # int refuses both of them
    start, tensors, end = 8 + int.from_bytes(file[:8], "little"), {}, 0
    header = json.loads(file[8:start].decode(), **strict)
    model = json.loads(header.pop("__metadata__")["maxmargin"], **strict)
    known = CONTENT <= {*model} <= CONTENT | {"preparation", "calibration", "provenance"}
    need(known and (model["format"], model["version"]) == ("maxmargin model", 2), "not a model file of version 2")
    digits = model["sha256"].encode()
    found = hashlib.sha256(file.replace(digits, b"0" * 64, 1)).hexdigest().encode()
    need(file[:start].count(digits) == 1 and found == digits, "the checksum is not that of the file")
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (begin, stop), shape = entry["data_offsets"], entry["shape"]
        values = array(dict(F64="d", F32="f", I64="q", I32="i")[entry["dtype"]], file[start + begin : start + stop])
        fits = begin == end and len(values) == math.prod(shape) and len(entry) == 3 and len(shape) in (1, 2)
        need(fits and max(shape) <= len(file), f"tensor {name}: an overlap, a gap or a wrong length")
        values = values.tolist() if entry["dtype"][0] == "I" else list(map(Fraction, values))  # nan is an error
        end, width = stop, shape[-1]
        tensors[name] = [values[k * width : (k + 1) * width] for k in range(shape[0] if len(shape) > 1 else 1)]
    need(start + end == len(file), "bytes follow the last tensor")
    return model, tensors


def read_rows(path, names, target, first):  # section 2: label, columns and values of every row of CSV or svmlight text
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix, open)
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        if ".csv" in Path(path).suffixes:
            table = csv.DictReader(file, strict=True)
            others = [target] if target else [name for name in table.fieldnames or () if name not in names]
            need(len(others) == 1 and len({*table.fieldnames}) == len(table.fieldnames), "name the target by --target")
            yield from ((row[others[0]], range(len(names)), [float(row[name]) for name in names]) for row in table)
        for words in filter(None, (line.partition("#")[0].split() for line in file)):
            pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
            yield words[0], [int(j) - first for j, _ in pairs], [float(v) for _, v in pairs]


def integers(values):  # integers N and one denominator D with values[i] = N[i] / D
    ratios = [v.as_integer_ratio() for v in values]
    D = math.lcm(*{d for _, d in ratios})
    return [n * (D // d) for n, d in ratios], D


def total(values):  # a sum of fractions and a bound on its error: exact unless the denominators are many and odd
    terms = [v * 2**4096 for v in values]
    return Fraction(sum(map(int, terms)), 2**4096), Fraction(sum(v != int(v) for v in terms), 2**4096)


def root(square, error=0):  # the square root of a fraction and a bound on its error, zero where it is rational
    n, d = max(square, 0).as_integer_ratio()
    shift = max(0, 7 * BITS - (n * d).bit_length()) // 2 + 1  # a root of more than 3 BITS bits
    r = math.isqrt(n * d << 2 * shift)
    value, rounding = Fraction(r, d << shift), Fraction(r * r != n * d << 2 * shift, d << shift)
    return value, rounding + (2 * error / value if value else 2 * error and root(error)[0])


def rounded(function, n, d):  # 2**BITS function(n/d), up to ERROR; the decimal module rounds exp and log correctly
    return int(DECIMAL.multiply(function(DECIMAL.divide(n, d)), 1 << BITS))


def balanced(values):  # the repair to sum zero: the heavier sign is multiplied by the quotient of the two sums
    plus, minus = sum(v for v in values if v > 0), -sum(v for v in values if v < 0)
    factor = min(plus, minus) / max(plus, minus) if plus or minus else 1
    return [v * factor if (v > 0) == (plus > minus) else v for v in values]


class Linear:  # coefficients of one task: exact scores F_i = w·x_i + b, and sizes, the sums of their absolute terms
    definite, error, norm_error = True, 0, 0

    def __init__(self, data, w, b):
        self.data, self.b, self.squares, (W, D) = data, Fraction(b), data.squares, integers([*w, b])
        terms = [list(map(mul, v, map(W.__getitem__, j))) for j, v in data.X]
        self.F, self.sizes = ([Fraction(sum(map(f, row)), D * data.D) for row in terms] for f in (int, abs))
        self.norm = Fraction(sum(map(mul, W[:-1], W)), D * D)

    def square(self, beta, ones=False):  # ||sum beta_i x_i||², or that of beta_i (x_i, 1), and a bound on its error
        v, D = integers(self.data.combination(beta)[: None if ones else -1])
        return Fraction(sum(map(mul, v, v)), D * D), 0


class Expansion:  # the same for w = sum_j beta_j phi(x_j); K: columns of the kernel matrix, integers over unit
    def __init__(self, data, kernel, beta, b, K):
        kernel = {"name": "poly", "gamma": 1} if kernel["name"] == "linear" else kernel
        gamma, coef0, power = Fraction(kernel["gamma"]), Fraction(kernel.get("coef0", 0)), int(kernel.get("degree", 1))
        rbf, D, S, rho = kernel["name"] == "rbf", data.D**2, sum(map(abs, beta.values())), max(data.squares)
        scale, shift = gamma.numerator * coef0.denominator, coef0.numerator * gamma.denominator * D
        unit, L = gamma.denominator * coef0.denominator * D, [int(s * D) for s in data.squares]
        for j in beta.keys() - K.keys():
            z, r = dict(zip(*data.X[j])) | {data.d: 0}, L[j]
            dots = (sum(map(mul, v, map(z.get, columns, repeat(0)))) for columns, v in data.X)
            terms = ((scale * u + shift, scale * (2 * u - s - r)) for u, s in zip(dots, L))
            K[j] = [rounded(EXP, exponent, unit) if rbf else product**power for product, exponent in terms]
        self.K, self.b, self.definite, self.unit = K, b, min(gamma, coef0) >= 0, 1 << BITS if rbf else unit**power
        columns, (B, Db) = zip(*(K[j] for j in beta)) if beta else repeat((), data.n), integers(beta.values())
        self.F = [Fraction(sum(map(mul, B, row)), Db * self.unit) + b for row in columns]
        ones = data.problem.get("intercept", False)  # b is a sum of beta_j
        self.sizes = repeat(abs(b) + (ones + (1 + gamma * rho if rbf else (gamma * rho + abs(coef0)) ** power)) * S)
        self.squares = [1 if rbf else Fraction((scale * s + shift) ** power, self.unit) for s in L]
        self.k_error, self.error = ERROR * rbf, ERROR * rbf * S
        self.norm, self.norm_error = self.square(beta)

    def square(self, beta, ones=False):
        B, D = integers(beta.values())
        value = sum(b * sum(c * self.K[j][i] for j, c in zip(beta, B) if c) for i, b in zip(beta, B) if b)
        value = Fraction(value, D * D * self.unit) + ones * sum(beta.values()) ** 2
        return value, self.k_error * sum(map(abs, beta.values())) ** 2


class Checker(list):  # the answers (claim, verdict, detail) on one model; points (x, 1) as integers X over D
    def __init__(self, model, tensors, rows, weights):
        self.model, self.problem, self.attributes, self.tensors = model, model["problem"], model["attributes"], tensors
        self.d, self.y, self.columns, self.values, self.prefix = self.attributes["n_features_in_"], [], [], [], ""
        codes = {label: code for code, label in enumerate(self.attributes.get("classes_", ()))}
        for label, j, v in rows:
            fits = not j or (j[0] >= 0 and j[-1] < self.d and all(map(int.__lt__, j, j[1:])))
            need(fits and all(map(math.isfinite, v)), f"row {len(self.y) + 1}: nan, or columns out of order or range")
            if codes and label not in codes:  # numbers compare as numbers, or by their text
                label = int(label) if label.lstrip("+-").isdigit() else float(label) + 0.0
            self.y.append(codes[label if label in codes else str(label)] if codes else float(label))
            self.columns.append(array("Q", [a for a, b in zip(j, v) if b] if 0.0 in v else j))
            self.values.append(array("d", [b for b in v if b] if 0.0 in v else v))
        self.n, self.k, self.s = len(self.y), len(codes), array("d", map(float, weights))
        known = all(abs(x) < INF and (x >= 0 or "kernel" in self.problem) for x in chain(self.s, map(abs, self.y)))
        need(known and len(self.s) in (0, self.n), "weights: one a row, not negative; targets: finite")

    def say(self, name, true, detail=""):
        self.append((self.prefix + name, {True: "TRUE", False: "FALSE", None: "NOT CHECKED"}[true], detail))
        return true

    def holds(self, name, small, large, error=0):  # small <= large? The computed number is known up to error
        room = Fraction(large) - Fraction(small) if error and INF not in (abs(small), abs(large)) else None
        true = small <= large if room is None else True if room >= error else False if room < -error else None
        texts = (repr(x) if isinstance(x, float) else f"{Decimal(x.numerator) / x.denominator}" for x in (small, large))
        return self.say(name, true, self.reason if true is None else " <= ".join(texts))

    def combination(self, factors, power=1):  # the sums over i of factors_i (x_ij, 1)**power
        (B, D), sums = integers(factors.values()), [0] * (self.d + 1)
        for i, factor in zip(factors, B):
            for j, v in zip(*self.X[i]) if factor else ():
                sums[j] += factor * v**power
        return [Fraction(v, D * self.D**power) for v in sums]

    def scaled_norm(self, v, radius):  # radius times the norm of v_j / s_j, s the tensor proof.scales, and its error
        pairs = [(a, s) for a, s in zip(v, self.tensors["proof.scales"][0]) if a]
        norm = root(*total((a / s) ** 2 for a, s in pairs)) if all(s for _, s in pairs) else (INF, 0)
        return (x * Fraction(radius) if x < INF else INF for x in norm)

    def gap(self, claim, primal, primal_error, dual, dual_error, intercepts=(), sums=()):  # rho = 0: free, inf: none
        rho, b, z = self.problem.get("intercept_penalty", 0.0), sum(x * x for x in intercepts), sum(x * x for x in sums)
        primal += Fraction(rho) * b / 2 if rho < INF else INF if b else 0
        self.holds("primal", primal, claim["primal"], primal_error)
        self.holds("dual", claim["dual"], dual - (z / (2 * Fraction(rho)) if 0 < rho < INF else 0), dual_error)
        self.holds("dual <= primal", claim["dual"], claim["primal"])

    def svm(self, claim, f, _):  # hinge and epsilon-insensitive losses and their squares
        squared, regression = "squared" in self.problem["loss"], "epsilon" in self.problem["loss"]
        old, epsilon = self.beta, Fraction(self.problem.get("epsilon", 0))
        losses = (max(0, abs(y - s) - epsilon if regression else 1 - y * s) for y, s in zip(self.t, self.F))
        box = ((1 if regression or y > 0 else -1, INF if squared else c) for y, c in zip(self.t, self.C))
        new = [s * min(max(s * b, -end if regression else 0), end) for b, (s, end) in zip(old, box)]
        sizes = repeat(max(map(abs, old))) if squared else self.C
        wrong = any(abs(a - b) * 2**40 > size for a, b, size in zip(old, new, sizes))
        new = new if self.problem.get("intercept_penalty") else balanced(new)
        square, error = f.square(dict(zip(self.rows, new)))
        cost, rounding = total(b * b / (4 * c) for b, c in zip(new, self.C)) if squared else (0, 0)
        primal = f.norm / 2 + sum(c * e ** (1 + squared) for c, e in zip(self.C, losses))
        dual = sum(y * b - epsilon * abs(b) for y, b in zip(self.t, new)) - cost - square / 2 if not wrong else -INF
        errors = f.norm_error + f.error * sum(self.C), error + rounding if f.definite else INF
        self.gap(claim, primal, errors[0], dual, errors[1], [f.b], [sum(new)])

    def multiclass(self, claim, *_):  # Crammer and Singer's problem; B: the duals of every class
        y, rows, free, (_, fs, B) = self.y, self.rows, not self.problem["intercept_penalty"], zip(*self.tasks)
        used, Z, wrong = {y[i] for i in rows}, [dict.fromkeys(rows, 0) for _ in fs], False
        for i, c in zip(rows, self.C):
            for m in (used if free else {*range(self.k)}) - {y[i]}:  # intercepts without rows have no bound
                wrong |= B[m][i] * 2**40 > c
                Z[m][i] = min(B[m][i], 0)
            A = -sum(row[i] for row in Z)
            wrong |= (A - c) * 2**40 > c
            min(Z, key=lambda row: row[i])[i] += max(0, A - c)  # any feasible duals will do
            Z[y[i]][i] = min(A, c)
        sums = [sum(row.values()) for row in Z]
        losses = (1 + max(f.F[i] for m, f in enumerate(fs) if m != y[i]) - fs[y[i]].F[i] for i in rows)
        primal = sum(f.norm for f in fs) / 2 + sum(c * max(0, e) for c, e in zip(self.C, losses))
        dual = sum(Z[y[i]][i] for i in rows) - sum(fs[0].square(row)[0] for row in Z) / 2
        if free:
            h = min(max(c for i, c in zip(rows, self.C) if y[i] == code) for code in used)
            R, P = (root(x)[0] * (1 + Fraction(1, 1 << BITS)) for x in (max(self.squares), primal))
            dual -= sum(map(abs, sums)) / 2 * (primal / h + 2 * R * P)
        self.gap(claim, primal, 0, -INF if wrong else dual, 0, [f.b for f in fs], sums)

    def margins(self, claim, f, k):  # margin bracket of a hard margin or a perceptron
        hard, ones, best = self.problem["loss"] == "hard_margin", self.problem.get("intercept", False), (INF, 0)
        error, inner, lengths = f.error, claim.get("bracket", claim), [Fraction(1)] * len(self.rows)
        free = hard and not self.problem.get("intercept_penalty")
        points, q = [f.squares[i] + ones for i in self.rows], list(map(mul, self.t, self.F))
        if "proof.centre" in self.tensors:
            c = Linear(self, self.tensors["proof.centre"][0], 0)
            points = [p - 2 * c.F[i] + c.norm for i, p in zip(self.rows, points)]
        (R, R_error), (length, e) = root(max(points)), root(f.norm + ones * f.b**2, f.norm_error)
        if self.problem.get("normalize"):  # products with points of length one, up to ``error``
            bits = 2 * BITS + f.norm.denominator.bit_length()
            error, lengths, R, R_error = Fraction(1, 1 << bits), [root(p)[0] or 1 for p in points], any(points), 0
            q = [Fraction(int((s * 2**bits) / x), 1 << bits) for s, x in zip(q, lengths)]
        for weights in (self.beta, *([row[i] for i in self.rows] for row in self.tensors.get("hull_weights_", ()))):
            a = [abs(b) * y * (not hard or b * y > 0) for b, y in zip(weights, self.t)]
            a = balanced(a) if free else a
            if weight := sum(abs(x) * y for x, y in zip(a, lengths)):
                u, u_error = root(*f.square(dict(zip(self.rows, a)), ones))
                best = min(best, (u / weight, (u_error + (u / 2 ** (BITS - 2) if error else 0)) / weight))
        q, e, error = [s / (length or 1) for s in q], e / (length or 1), error / (length or 1)
        margin = (min(q), 2 * (error + abs(min(q)) * e)) if length else (-INF if hard else -R, R_error)
        if not f.definite:  # w and the points of hulls have no length
            margin, best, error = (0, INF), (0, INF), INF
        true = self.holds("radius", R, min(claim["radius"], inner["radius"]), R_error)
        best = (inner["radius"], 0) if true and inner["upper"] >= inner["radius"] else best
        self.holds("lower", inner["lower"], *margin)
        self.holds("upper", best[0], inner["upper"], best[1])
        if inner.get("hulls_meet"):  # integers c_i > 0 with sum c_i t_i (x_i, 1) = 0
            signs, witness = dict(zip(self.rows, self.t)), (self.model["data"] or {}).get("hulls", [()] * (k + 1))[k]
            c = {i: int(x, 16) * signs[i] for i, x in witness or () if i in signs}
            zero = not any(self.combination(c)[: self.d + (ones or free)]) and all(c[i] * signs[i] > 0 for i in c)
            self.say("hulls_meet", zero if c else None, "weights that cancel" if c else "the file has no exact weights")
        self.say("lower <= upper <= radius", inner["lower"] <= inner["upper"] <= inner["radius"])
        return None if inner is claim else self.mistakes(claim, k, q, error, e * bool(length))

    def mistakes(self, claim, k, margins, error, e):  # margins up to error, and up to the share e of their size
        bound, updates, n = claim["bound"], self.attributes["n_updates_"][k], len(margins)
        history = self.tensors.get(f"mistakes_per_pass_.{k}", [range(self.attributes.get("n_iter_", 1))])[0]
        passes, seen = len(history) or 1, n - self.attributes.get("_n_held_out", 0)
        self.say("mistakes", updates == claim["mistakes"] <= bound, f"{updates} = {claim['mistakes']} <= {bound!r}")
        self.say("examples", claim["examples"] == passes * seen, f"{claim['examples']} = {passes} times {seen} rows")
        if not self.holds("gamma", 5e-324 if bound < INF else 0.0, claim["gamma"]) or bound == INF:
            return self.say("deficit, bound", bound == INF, "no bound is claimed")
        gamma, deficit, radius = (Fraction(claim[name]) for name in ("gamma", "deficit", "radius"))
        T = passes * sum(max(0, gamma - s) for s in margins)
        self.holds("deficit", T, deficit, passes * n * (2 * gamma * e + error) + T * e)
        start, b = (self.tensors.get(f"{name}_init_", [()] * (k + 1)) for name in ("coef", "intercept"))
        step, ratio = Fraction(self.problem["step"]) * max(self.m), max(self.m) / min(self.m)
        a, e = root(sum((v / step) ** 2 for v in (*start[k], *b[0][k : k + 1])))
        quotient = (radius / gamma) ** 2 * (n if self.problem["rule"] == "batch" else 1)
        return self.holds("bound", ratio * (quotient + 2 * (deficit + a) / gamma), bound, ratio * 2 * e / gamma)

    def logistic(self, claim, f, k):  # the dual point: probabilities, made feasible by one factor
        finite, free, c, unit = self.problem["C"] < INF, self.problem["intercept"], self.C, 1 << BITS
        s, products = list(map(mul, self.t, self.F)), dict.fromkeys(c, unit)  # one logarithm for each C_i
        for a, x in zip(c, s):
            products[a] = products[a] * (unit + rounded(EXP, -abs(x).numerator, x.denominator)) >> BITS
        primal = sum(a * Fraction(rounded(LOG, x, unit), unit) for a, x in products.items()) + finite * f.norm / 2
        primal = primal - sum(a * x for a, x in zip(c, s) if x < 0) if free or not f.b else INF
        p = [self.tensors["_dual_point"][k][i] for i in self.rows]
        beta, entropy = (balanced if free else list)([a * x * y for a, x, y in zip(c, p, self.t)]), 0
        for a, (n, d) in ((a, abs(x / a).as_integer_ratio()) for a, x in zip(c, beta) if 0 < abs(x) < a):
            entropy -= a * sum(x * rounded(LOG, x, d) for x in (n, d - n)) // d
        v, error = self.combination(dict(zip(self.rows, beta)))[:-1], ERROR * (len(p) + 3 * sum(c))
        cost, rounding = (sum(x * x for x in v) / 2, 0) if finite else self.scaled_norm(v, claim["reach"])
        dual = max(0, Fraction(entropy, unit) - cost) if min(p) >= 0 and max(p) <= 1 else 0
        self.gap(claim, primal, error, dual, error + rounding if claim["dual"] > 0 else 0)
        (length, e), margin, signs = root(0 if finite else f.norm), abs(Fraction(claim["margin"])), [0]
        self.holds("margin", margin * (length or 1), min(s) if length and margin else 0, margin * e)
        if claim["freed"] and not finite:
            g = Linear(self, self.tensors["separating_coef_"][k], self.tensors["separating_intercept_"][0][k])
            signs = [g.F[i] * y for i, y in zip(self.rows, self.t)]
        self.say("freed", min(signs) >= 0 and sum(x > 0 for x in signs) >= claim["freed"], f"{claim['freed']} rows")

    def squared_errors(self, claim, f, _):  # ridge, least squares and lasso: the best multiple of the dual point
        lam, free, m, y, W = Fraction(self.problem["lam"]), self.problem["intercept"], self.m, self.t, sum(self.m)
        point = [self.tensors["_dual_point"][0][i] for i in self.rows]
        mean, (q, error) = sum(point) / W if free else 0, total(x * x / b for x, b in zip(point, m))
        g, q = sum(map(mul, point, y)) - mean * sum(map(mul, m, y)), q - mean * sum(point)
        sums = (self.combination(dict(zip(self.rows, c)), power)[:-1] for c, power in ((point, 1), (m, 1), (m, 2)))
        a, spreads = zip(*((x - mean * u, v - (u * u / W if free else 0)) for x, u, v in zip(*sums)))
        primal = sum(b * (t - s) ** 2 for b, t, s in zip(m, y, self.F))
        if self.problem["loss"] == "absolute_penalty":
            h = max(0, min((g / q, *(lam / abs(x) for x in a if x)))) if q else 0
            primal = primal / 2 + lam * sum(map(abs, self.tensors["coef_"][0]))
            self.gap(claim, primal, 0, h * g - h * h * q / 2, h * h * error)
            top, value = Fraction(claim["primal"]), Fraction(claim["dual"])
            u, e = root(g * g - 2 * q * value)
            h = min(h, (g - u + e) / q) if q else 0  # the smallest one with the claimed value
            slacks = ((lam - h * abs(x), v) for x, v in zip(a, spreads))
            unused = sum(s > 0 and s * s > 2 * (top - value) * v for s, v in slacks)
            return self.holds("unused", claim["unused"], unused)
        norm, e = (0, 0) if lam else self.scaled_norm(a, claim["radius"])
        g, q = g - norm, q + (sum(x * x for x in a) / lam if lam else 0)
        pairs = zip(self.tensors.get("proof.scales", [()])[0], spreads)
        self.say("scales", all(s <= 1e-150 or s * s <= v for s, v in pairs), "at most the spreads of the columns")
        dual, e = (g * g / q, 2 * g * e / q + (g / q) ** 2 * error) if g > 0 else (0, 0)
        return self.gap(claim, primal + lam * f.norm, 0, dual, e)

    def support(self):  # what predictions use besides the duals: the kernel, and rows of the data, class by class
        tensors, support, kernel = self.tensors, self.tensors["support_"][0], self.problem["kernel"]
        self.say("kernel", self.attributes["_kernel"] == kernel, "that of the problem")
        size = len(support) * self.n * max(9, (kernel or {}).get("degree", 1) ** 2) // 9  # high powers have many digits
        if kernel is None or kernel["name"] == "sigmoid" or size > KERNEL_LIMIT:
            raise ArithmeticError(f"a precomputed or sigmoid kernel, or more than {KERNEL_LIMIT} kernel values")
        data, columns, ends = (tensors.get(f"support_vectors_.{x}", [()])[0] for x in ("data", "indices", "indptr"))
        sparse, dense = [zip(columns[a:b], data[a:b]) for a, b in pairwise(ends)], tensors.get("support_vectors_", ())
        stored = [[(j, v) for j, v in row if v] for row in sparse or map(enumerate, dense)]
        self.say("support vectors", stored == [[*zip(self.columns[i], self.values[i])] for i in support], "rows of X")
        order, counts = (tensors.get(name, [()])[0] for name in ("_vote_order", "_n_support"))
        expected = [c for c, n in enumerate(counts) for _ in range(min(n, len(support) + 1))]  # or forged
        codes = [self.y[i] for i in support] if counts else []
        self.say("order", expected == codes and order in ((), [*range(self.k)]), "support vectors and votes: by class")

    def all_tasks(self):  # section 4: for every task its signs or targets, scores and duals
        tensors, pairs, K = self.tensors, list(combinations(range(self.k), 2)), {}
        signs = [[1 if c == a else -1 for c in self.y] for a in range(self.k)][self.k == 2 :]
        if self.k > 2 and self.model["class"] == "SVC":
            signs = [[(c == a) - (c == b) for c in self.y] for a, b in pairs]
        intercepts = tensors["intercept_"][0] if "intercept_" in tensors else self.attributes["intercept_"]
        for task, t in enumerate(signs or [list(map(Fraction, self.y))]):
            duals = tensors.get("_duals") or tensors.get("dual_coef_", [()] * (task + 1))[task:]
            if "kernel" not in self.problem:
                yield t, Linear(self, tensors["coef_"][task], intercepts[task]), dict(enumerate(duals[0]))
                continue
            (one, other), b = pairs[task] if len(signs) > 1 and "_duals" in tensors else (0, 1), intercepts[task]
            places = ((i, j, other - 1 if self.y[i] == one else one) for j, i in enumerate(tensors["support_"][0]))
            beta = {i: duals[row][j] for i, j, row in places if (t[i] or not self.k) and duals[row][j]}
            if self.problem["loss"] == "perceptron":
                found, b = b, sum(beta.values()) if self.problem["intercept"] else Fraction(0)
                self.holds("intercept_", abs(b - found), sum(map(abs, beta.values())) / 2**37)
            yield t, Expansion(self, self.problem["kernel"], beta, b, K), beta

    def certificate(self, claims):  # section 5; returns the scores of all tasks
        g, C = (self.model["data"] or {}).get("class_factors"), self.problem.get("C", INF)
        weights = [Fraction(max(0.0, a) * (g[c] if g else 1.0)) for a, c in zip(self.s or [1.0] * self.n, self.y)]
        values, self.D = integers(list(chain(*self.values)))
        rest = iter(values)
        self.X = [([*j, self.d], [*islice(rest, len(j)), self.D]) for j in self.columns]
        self.squares = [Fraction(sum(map(mul, v[:-1], v)), self.D**2) for _, v in self.X]
        if "kernel" in self.problem:
            self.support()
        name, self.tasks = CHECKS[self.problem["loss"]], list(self.all_tasks())
        for k, (claim, (t, f, beta)) in enumerate(zip(claims, self.tasks)):
            self.prefix = f"task {k}: " if len(claims) > 1 else ""
            self.reason = "the bound on the error is too large" if f.definite else "the kernel is not definite"
            self.rows = [i for i in range(self.n) if weights[i] and (t[i] or not self.k)]
            self.t, self.F, self.m = ([x[i] for i in self.rows] for x in (t, f.F, weights))
            self.C = [Fraction(C * float(x)) if C < INF else x for x in self.m]
            self.beta = [beta.get(i, 0) for i in self.rows]
            getattr(self, name)(claim, f, k)
        self.prefix = ""
        return [f for _, f, _ in self.tasks]

    def run(self):  # all claims; those that were not decided are named at the end
        attributes, data, fs, known = self.attributes, self.model["data"] or {}, (), None  # known: True once decided
        y = self.y if self.model["class"] != "OneClassSVM" else [1.0] * self.n  # it learns without labels
        sizes, y = array("Q", [self.n, self.d, *map(len, self.columns)]), array("Q" if self.k else "d", y)
        parts = [sizes, *self.columns, *self.values], [y], [self.s] * bool(self.s)
        found = [hashlib.sha256(b"".join(map(bytes, part))).hexdigest() if part else None for part in parts]
        same = found == [data[name] for name in ("X", "y", "weights")] if data else None
        self.say("data", same, "hashes of X, y and weights" if data else "the file has no hashes")
        certificate = attributes.get("certificate_", {"of": ()})
        claims = [c for _, c in certificate.get("of", [(0, certificate)])]
        fields = [*claims, *(c["bracket"] for c in claims if "bracket" in c)]
        need(all(x == x for c in fields for x in c.values()), "nan in the certificate")
        if same is False or not claims:
            return
        try:
            fs, known = self.certificate(claims), True
        except (ArithmeticError, KeyError) as error:
            self.say(", ".join(claims[0]), None, f"this program does not decide them: {error}")
        pairs, scores = [(c["primal"], c["dual"]) for c in claims if "primal" in c], data.get("scores")
        if "objective_" in attributes and pairs:  # from here on section 6
            self.say("objective_", attributes["objective_"] == [p for p, _ in pairs] and known, "the primal values")
        if attributes.get("status_") == "solved" and pairs:
            tol, least = self.model["parameters"].get("tol", 1e-6) + 1e-9, 1e-9 * self.problem.get("C", 1.0)
            done = all(p - d <= tol * max(p, -d) or (d <= 0 and p - d <= least) for p, d in pairs)
            self.say("status_", known if done else None if self.problem.keys() & {"lam", "nu"} else False, "gap <= tol")
        if "support_" in self.tensors and "kernel" not in self.problem:
            used = [i for i, column in enumerate(zip(*self.tensors["dual_coef_"])) if any(column)]
            self.say("support_", sorted(self.tensors["support_"][0]) == used, "rows with a dual that is not zero")
        for k, (f, claimed) in enumerate(zip(fs, scores["sums"] if scores else ())):
            h = [1 + i % 3 for i in range(min(scores["rows"], self.n))]
            error = abs(Fraction(claimed) - sum(map(mul, h, f.F)))
            self.holds(f"sum of scores {k}", error, sum(map(mul, h, f.sizes)) / 2**36 + TINY, f.error * sum(h))
        said, present = {name for name, _, _ in self}, {*chain(*fields, attributes, self.tensors)}
        if rest := [name for name in (*COUNTS.split(), *OTHERS.split()) if name in present - said]:
            self.say(", ".join(rest), None, "this program does not decide them")


def check_model(model, data, weights=None, target=None, zero_based=False):  # the answers (claim, verdict, detail)
    try:
        content, tensors = read_model(Path(model).read_bytes())
        rows = read_rows(data, content["attributes"].get("feature_names_in_", ()), target, 0 if zero_based else 1)
        check = Checker(content, tensors, rows, Path(weights).read_text().split() if weights else ())
        check.run()
    except BAD_FILE as error:
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
        parser.exit(2, f"error: {error}\n")
    print(*(f"{verdict:12}{claim}: {detail}" for claim, verdict, detail in answers), sep="\n")
    return int("FALSE" in (verdict for _, verdict, _ in answers))


if __name__ == "__main__":
    raise SystemExit(main())
