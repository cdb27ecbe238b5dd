"""Check what a model file of maxmargin claims, from the training data alone and in exact arithmetic.

Every float64 is an integer times a power of two, so that sums of products are exact; square roots, exp and log have a
bound on their error. Sections are those of docs/proof-format.md. Exit code: 1 if a claim is FALSE, 2 for a bad file.
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
from itertools import chain, combinations, pairwise, repeat
from operator import mul
from pathlib import Path

Unreadable = OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError
INF, DECIMAL = math.inf, Context(prec=38)  # exp and ln are rounded correctly to 38 digits
BITS, UNIT, ERROR = 112, 1 << 112, Fraction(1, 1 << 106)  # of square roots, exp and log below 800; a claim has 53 bits
UNPREPARED = "columns are not prepared here (categories, missing values, scaling): use maxmargin verify"
PROBLEMS = """LinearSVC: hinge squared_hinge hard_margin crammer_singer: classes_ C intercept_penalty
LinearSVC: elastic_net_squared_hinge: classes_ C lam squared_penalty intercept: intercept_scaling
LinearSVR: epsilon_insensitive squared_epsilon_insensitive: C intercept_penalty epsilon
SVC: hinge hard_margin: classes_ C kernel
SVR: epsilon_insensitive: C epsilon kernel: equal_weights
LogisticRegression: logistic logistic_penalized_intercept: classes_ C intercept: intercept_penalty intercept_scaling
Ridge Lasso ElasticNet BayesianRegression: squared_error absolute_penalty positive_absolute_penalty: lam intercept
Ridge ElasticNet: elastic_net positive_elastic_net: lam squared_penalty intercept
Perceptron: perceptron elastic_net_perceptron: classes_ rule step normalize intercept: alpha l1_ratio
KernelPerceptron: perceptron: classes_ rule step intercept kernel
MarginPerceptron: margin: classes_ normalize intercept""".splitlines()  # estimators: losses: numbers: those that may be missing
KERNELS = {"linear": {"name"}, "poly": {"name", "gamma", "coef0", "degree"}, "rbf": {"name", "gamma"}}
NO_CLAIMS = """kind space kkt_violation reach radius n_features_in_ feature_names_in_ classes_ certificate_ coef_
intercept_ dual_coef_ support_ support_vectors_ separating_coef_ separating_intercept_ hull_weights_ proof bracket
mistakes_per_pass_ n_updates_ coef_init_ intercept_init_ n_iter_ gamma_guess_ n_rounds_ shape_fit_"""


def need(true, message):
    if not true:
        raise ValueError(message)


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
    need((model["format"], model["version"]) == ("maxmargin model", 2), "not a model file of version 2")
    digits = model["sha256"].encode()
    found = hashlib.sha256(file.replace(digits, b"0" * 64, 1)).hexdigest().encode()
    need(file[:start].count(digits) == 1 and found == digits, "the checksum is not that of the file")
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (begin, stop), shape, (n, width) = entry["data_offsets"], entry["shape"], [1, *entry["shape"]][-2:]
        values = array(dict(F64="d", F32="f", I64="q", I32="i")[entry["dtype"]], file[start + begin : start + stop])
        fits = begin == end and len(values) == n * width and 0 <= min(n, width) <= max(n, width) <= len(file)
        need(fits and len(entry) == 3 and len(shape) in (1, 2), f"tensor {name!r}: an overlap, a gap or a wrong length")
        values = values.tolist() if entry["dtype"][0] == "I" else list(map(Fraction, values))  # nan is an error
        end, tensors[name] = stop, [values[k * width : (k + 1) * width] for k in range(n)]
    need(start + end == len(file), "bytes follow the last tensor")
    return model, tensors


def read_rows(path, names, target, first):  # section 2: label, columns and values of every row of CSV or svmlight text
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(Path(path).suffix, open)
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        if ".csv" in Path(path).suffixes:
            table = csv.DictReader(file, strict=True)
            found = table.fieldnames or []
            others = [target] if target else [name for name in found if name not in names]
            fits = names and {*names, *others} <= {*found} and len({*found}) == len(found)
            need(fits and len(others) == 1, f"not the columns of the model and one --target; {UNPREPARED}")
            for row in table:
                need(all(map(row.get, names)) and None not in row, f"line {table.line_num}: fields; {UNPREPARED}")
                yield row[others[0]], range(len(names)), [float(row[name]) for name in names]
        for words in filter(None, (line.partition("#")[0].split() for line in file)):
            pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
            yield words[0], [int(j) - first for j, _ in pairs], [float(v) for _, v in pairs]


def read_data(model, data, weights=None, target=None, zero_based=False):  # codes or targets, rows, and weights
    attributes, y, rows = model["attributes"], [], []
    codes, d = {label: code for code, label in enumerate(attributes.get("classes_", []))}, attributes["n_features_in_"]
    for label, j, v in read_rows(data, attributes.get("feature_names_in_", []), target, 1 - zero_based):
        if label not in codes:  # numbers compare as numbers, or by their text
            label = int(label) if label.lstrip("+-").isdigit() else float(label) + 0.0
        y.append(codes.get(label, codes.get(str(label), math.nan)) if codes else Fraction(float(label)))
        fits = all(map(int.__lt__, (-1, *j), (*j, d))) and all(map(math.isfinite, (y[-1], *v)))
        need(fits, f"row {len(y)}: nan, columns out of order or range, or {label!r} is no label of the model")
        j, v = ([x for x, z in zip(entries, v) if z] for entries in (j, v)) if 0.0 in v else (j, v)
        rows.append((array("Q", j), array("d", v)))
    s = array("d", map(float, Path(weights).read_text().split() if weights else ()))
    fits = len(s) in (0, len(y)) and all(abs(x) < INF and (x >= 0 or "kernel" in model["problem"]) for x in s)
    need(fits, "weights: one a row, finite, not negative")
    return y, rows, s


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


def rounded(function, n, d):  # 2**BITS function(n/d), up to ERROR
    return int(DECIMAL.multiply(function(DECIMAL.divide(n, d)), UNIT))


LOGS = [rounded(DECIMAL.ln, k or 1, 512) for k in range(1025)]


def log(n, d=UNIT):  # 2**BITS log(n/d) up to 20 + e, n/d = 2**-e k/512 (1 + s)/(1 - s) <= 2: from a table and a series
    x = (n << BITS + (e := max(0, d.bit_length() - n.bit_length()))) // d
    k, rest = x >> BITS - 9, x & (1 << BITS - 9) - 1
    s = (rest << BITS) // (2 * x - rest)  # below 2**-9
    return LOGS[k] - e * LOGS[1024] + 2 * sum(s**m // (m << BITS * (m - 1)) for m in (1, 3, 5, 7, 9, 11))


def balanced(values):  # the repair to sum zero: the heavier sign is multiplied by the quotient of the two sums
    plus, minus = sum(v for v in values if v > 0), -sum(v for v in values if v < 0)
    factor = min(plus, minus) / max(plus, minus) if plus or minus else 1
    return [v * factor if (v > 0) == (plus > minus) else v for v in values]


class Linear:  # coefficients of one task: exact scores F_i = w·x_i + b of all rows, and the square of their norm
    def __init__(self, data, w, b):
        fits = not b or data.rho < INF or data.problem.get("intercept_scaling")
        need(fits and len(w) == data.d, "coefficients: not one a column, or an intercept that the problem excludes")
        self.data, self.b, self.squares, (W, D) = data, Fraction(b), data.squares, integers([*w, b])
        self.F = [Fraction(sum(map(mul, v, map(W.__getitem__, j))), D * data.D) for j, v in data.X]
        self.norm, self.norm_error, self.error, self.definite = Fraction(sum(map(mul, W[:-1], W)), D * D), 0, 0, True

    def square(self, beta):  # ||sum beta_i x_i||² and a bound on its error
        v, D = integers(self.data.combination(beta)[:-1])
        return Fraction(sum(map(mul, v, v)), D * D), 0


class Expansion:  # the same for w = sum_j beta_j phi(x_j); K: columns of the kernel matrix, integers over unit
    def __init__(self, data, beta, b, K):
        kernel = {"gamma": 1, "coef0": 0, "degree": 1} | data.problem["kernel"]
        ((scale, shift), unit), rbf = integers((kernel["gamma"], kernel["coef0"])), kernel["name"] == "rbf"
        shift, unit, power = shift * data.D**2, unit * data.D**2, int(kernel["degree"])
        norms = [int(s * data.D**2) for s in data.squares]
        for j in beta.keys() - K.keys():
            z = dict(zip(*data.X[j])) | {data.d: 0}
            dots = (sum(map(mul, v, map(z.get, columns, repeat(0)))) for columns, v in data.X)
            pairs = ((scale * u + shift, scale * (2 * u - s - norms[j])) for u, s in zip(dots, norms))
            K[j] = [rounded(DECIMAL.exp, exponent, unit) if rbf else base**power for base, exponent in pairs]
        self.K, self.b, self.definite, self.unit = K, b, min(scale, shift) >= 0, UNIT if rbf else unit**power
        columns, (B, D) = zip(*(K[j] for j in beta)) if beta else repeat((), len(data.y)), integers(beta.values())
        self.F = [Fraction(sum(map(mul, B, row)), D * self.unit) + b for row in columns]
        self.squares = [1 if rbf else Fraction((scale * s + shift) ** power, self.unit) for s in norms]
        self.k_error = rbf and (ERROR if scale >= 0 else INF)  # exp of numbers above zero has no such bound
        (self.norm, self.norm_error), self.error = self.square(beta), self.k_error * sum(map(abs, beta.values()))

    def square(self, beta):
        B, D = integers(beta.values())
        value = sum(b * sum(c * self.K[j][i] for j, c in zip(beta, B) if c) for i, b in zip(beta, B) if b)
        return Fraction(value, D * D * self.unit), self.k_error * sum(map(abs, beta.values())) ** 2


class Check(list):  # the answers (claim, verdict, detail) on one model; points (x, 1) as integers X over D
    def __init__(self, model, data, *others, **options):
        (self.model, self.tensors), self.prefix = read_model(Path(model).read_bytes()), ""
        self.problem, self.attributes, self.data = (self.model[name] for name in ("problem", "attributes", "data"))
        self.classes, names = self.attributes.get("classes_", []), self.attributes.get("feature_names_in_", [])
        self.d, self.k, both = self.attributes["n_features_in_"], len({*self.classes}), self.attributes | self.tensors
        twice = [x for x in self.tensors if x in self.attributes or x.rpartition(".")[0] in both]
        fits = self.k == len(self.classes) != 1 and len({*names}) in (0, self.d) and not twice
        need(fits, f"labels, names of columns or {twice or 'attributes'}: twice, or too few")
        self.y, self.read, self.s = read_data(self.model, data, *others, **options)
        y = array("Q" if self.k else "d", [1.0] * len(self.y) if self.model["class"] == "OneClassSVM" else self.y)
        rows = [array("Q", [len(y), self.d, *(len(j) for j, _ in self.read)]), *chain(*zip(*self.read))]
        found = [hashlib.sha256(b"".join(map(bytes, x))).hexdigest() if any(x) else None for x in (rows, [y], [self.s])]
        same = found == [self.data[name] for name in ("X", "y", "weights")] if self.data else None
        need(same or not (self.model.get("preparation") or {}).get("scaling"), UNPREPARED)
        self.say("data", same, "hashes of X, y and weights" if self.data else "the file has no hashes")
        of = (c := self.attributes.get("certificate_", {"of": ()})).get("of", [(None, c)])
        labels = [[*pair] for pair in combinations(self.classes, 2)] if "_duals" in self.tensors else self.classes
        claims = [c for _, c in of]
        fields = [*claims, *(c["bracket"] for c in claims if "bracket" in c)]
        fits = [label for label, _ in of] in ([], [None], labels) and all(x == x for c in fields for x in c.values())
        need(fits, "nan in a certificate, or not the certificates of the classes, in order")
        if same is False:
            return
        known, why = claims != [] or None, "this program does not decide them" if claims else "there is no certificate"
        try:
            self.decide(claims)
        except (ArithmeticError, KeyError) as error:
            known, why = None, f"{why}: {error}"
        self.prefix, pairs = "", [(c["primal"], c["dual"]) for c in claims if "primal" in c]
        if known and pairs and self.attributes.get("status_") == "solved":  # section 6
            tol, least = self.model["parameters"].get("tol", 1e-6), 1e-9 * self.problem.get("C", 1.0)
            done = all(p - d <= (tol + 1e-9) * max(p, -d) or (d <= 0 and p - d <= least < INF) for p, d in pairs)
            self.say("status_", done or (None if "lam" in self.problem else False), f"gap <= tol = {tol!r}")
        said = {*NO_CLAIMS.split(), *(x for name, *_ in self if known for x in name.rpartition(": ")[2].split(", "))}
        stated = self.model | self.model["parameters"] | {"column names": names and ".csv" not in Path(data).suffixes}
        names = {*self.attributes, *self.tensors, *(x for c in fields for x in c if c[x] is not False and c[x] != "")}
        names |= {x for x in ("column names", "calibration", "preparation", "break_ties") if stated.get(x)}
        left = sorted(x for x in names if x[:1] != "_" and x.partition(".")[0] not in said)
        if left:
            self.say(", ".join(left), None, why)

    def say(self, name, true, detail=""):
        self.append((self.prefix + name, {True: "TRUE", False: "FALSE", None: "NOT CHECKED"}[true], detail))
        return true

    def holds(self, name, small, large, error=0):  # small <= large? The computed number is known up to error
        room = Fraction(large) - Fraction(small) if error and INF not in (abs(small), abs(large)) else None
        true = small <= large if room is None else True if room >= error else False if room < -error else None
        texts = (repr(x) if isinstance(x, float) else f"{Decimal(x.numerator) / x.denominator}" for x in (small, large))
        return self.say(name, true, "no bound on the error is small enough" if true is None else " <= ".join(texts))

    def combination(self, factors, power=1):  # the sums over i of factors_i (x_ij, 1)**power
        (B, D), sums = integers(factors.values()), [0] * (self.d + 1)
        for i, factor in zip(factors, B):
            for j, v in zip(*self.X[i]) if factor else ():
                sums[j] += factor * v**power
        return [Fraction(v, D * self.D**power) for v in sums]

    def bounds(self, claim, primal, primal_error, dual, dual_error, intercepts, sums):  # with rho/2 b² for intercepts
        rho, b, z = self.rho, sum(x * x for x in intercepts), sum(x * x for x in sums)
        primal += Fraction(rho) * b / 2 if rho < INF else 0
        self.holds("primal", primal, claim["primal"], primal_error)
        self.holds("dual", claim["dual"], dual - (z / (2 * Fraction(rho)) if 0 < rho < INF else 0), dual_error)
        self.holds("dual <= primal", claim["dual"], claim["primal"])

    def gap(self, claim, f, k):  # lam ||w||_1 + mu/2 ||w||² + rho/2 b² + sum_i c_i loss_i, and a dual point beta
        problem, get, tensors, loss, t = self.problem, self.problem.get, self.tensors, self.problem["loss"], self.t
        errors, logistic, q = not self.k and "epsilon" not in loss, "logistic" in loss, list(map(mul, t, self.F))
        epsilon, lam, s = (Fraction(get(name, 0)) for name in ("epsilon", "lam", "intercept_scaling"))
        squares = errors or "squared" in loss
        mu = Fraction(get("squared_penalty", "lam" not in problem and get("C") < INF))
        c, lam, mu = (self.C, 0, 2 * lam) if loss == "squared_error" else ([x / (1 + errors) for x in self.C], lam, mu)
        w = [*tensors.get("coef_", [()] * (k + 1))[k], f.b / s if s else 0]  # of columns, and of a constant one
        losses = (-x if logistic else 1 - x if self.k else abs(y - z) - epsilon for x, y, z in zip(q, t, self.F))
        primal = INF if "positive" in loss and min(w) < 0 else mu / 2 * (f.norm + w[-1] ** 2) + lam * sum(map(abs, w))
        primal += sum(a * max(0, x) ** (1 + squares) for a, x in zip(c, losses))
        point = [tensors["_dual_point"][k][i] for i in self.rows] if errors or logistic else self.beta
        if logistic:  # log(1 + exp(-q)) = log(1 + exp(-|q|)) + max(0, -q)
            logs = (log(UNIT + rounded(DECIMAL.exp, -abs(x).numerator, x.denominator)) for x in q)
            primal += sum(map(mul, c, logs)) / UNIT
            point = [a * x * y for a, x, y in zip(c, point, t)]
        ends = [*map(abs, point)] if squares else c  # of the box: |beta_i| <= c_i, and of the sign of a label
        beta = [min(max(b, -e * (not self.k or y < 0)), e * (not self.k or y > 0)) for b, e, y in zip(point, ends, t)]
        wrong = any(abs(x - b) * 2**40 > (max(ends) if squares else a) for x, b, a in zip(point, beta, c) if x != b)
        mean = sum(beta) / sum(c) * (self.rho == 0)
        beta = [b - a * mean for a, b in zip(c, beta)] if errors else balanced(beta) if self.rho == 0 else beta
        square, error = f.square(dict(zip(self.rows, beta))) if "kernel" in problem else (0, 0)
        v = self.combination(dict(zip(self.rows, beta))) if "kernel" not in problem else [0]
        v = [max(x, 0) if "positive" in loss else abs(x) for x in (*v[:-1], s * v[-1])]
        g, h, (cost, rounding) = 0, 1, total(b * b / (2 * a) for a, b in zip(c, beta)) if squares else (0, 0)
        for n, d, a in ((*abs(b / a).as_integer_ratio(), a) for a, b in zip(c, beta) if logistic and 0 < abs(b) < a):
            g -= a * sum(x * log(x, d) for x in (n, d - n)) // d  # the entropy
        g = Fraction(g, UNIT) if logistic else sum(y * b - epsilon * abs(b) for y, b in zip(t, beta))
        if not (lam or mu):  # the bound is that for all w with sum_j (s_j w_j)² <= radius²
            reach, scales = abs(Fraction(claim.get("reach", claim.get("radius")))), [*tensors["proof.scales"][0], 0]
            x, y = (self.combination(dict(zip(self.rows, c)), power) for power in (1, 2))
            free, W = self.rho == 0, 1 if errors else x[-1]
            least = sum(a * z * z for a, z in zip(c, t)) - free * sum(map(mul, c, t)) ** 2 / x[-1] if errors else 1
            spreads = [4 * (b - free * (1 - ERROR * 2**64) * a * a / x[-1]) / W for a, b in zip(x, y)]
            wrong |= reach * reach < least + sum((x * z) ** 2 for x, z in zip(w, scales, strict=True))
            wrong |= any(z * z > max(a, 1e-300) or (b and not z) for a, b, z in zip(spreads, v, scales))
            norm, error = root(*total((reach * x / z) ** 2 for x, z in zip(v, scales) if z))
            g -= norm
        if errors or lam:  # the best multiple h of the dual point; with mu by Newton's method
            h, last = min((max(0, g / cost) if cost else 0, *(lam / x for x in v if x and lam and not mu))), INF
            while mu and cost and h < last and (used := [x for x in v if h * x > lam]):
                h, last = (g + lam * sum(used) / mu) / (cost + sum(x * x for x in used) / mu), h
        square += sum(max(0, h * x - lam) ** 2 for x in v) / mu if mu else 0
        floor, series = 0 if errors or logistic or lam else -INF, ERROR * (len(t) + 3 * sum(c)) * logistic
        dual = max(floor, h * g - (h * h * cost + square) / 2) if not wrong else floor
        error = 0 if claim["dual"] <= floor else h * error + h * h * rounding + series if f.definite else INF
        self.bounds(claim, primal, f.norm_error + f.error * sum(c) + series, dual, error, [f.b], [sum(beta)])

    def multiclass(self, claim, *_):  # Crammer and Singer's problem; B: the duals of every class
        y, rows, free, (_, fs, B) = self.y, self.rows, self.rho == 0, zip(*self.tasks)
        columns = {y[i] for i in rows} if free else {*range(self.k)}  # intercepts without rows have no bound
        Z = [{i: min(b.get(i, 0), 0) if m in columns - {y[i]} else 0 for i in rows} for m, b in enumerate(B)]
        wrong = any(B[m].get(i, 0) * 2**40 > c for i, c in zip(rows, self.C) for m in columns - {y[i]})
        for i, c in zip(rows, self.C):
            A = -sum(row[i] for row in Z)
            wrong |= (A - c) * 2**40 > c
            min(Z, key=lambda row: row[i])[i] += max(0, A - c)  # any feasible duals will do
            Z[y[i]][i] = min(A, c)
        sums = [sum(row.values()) for row in Z]
        losses = (1 + max(f.F[i] for m, f in enumerate(fs) if m != y[i]) - fs[y[i]].F[i] for i in rows)
        primal = sum(f.norm for f in fs) / 2 + sum(c * max(0, e) for c, e in zip(self.C, losses))
        dual = sum(Z[y[i]][i] for i in rows) - sum(fs[0].square(row)[0] for row in Z) / 2
        if free:
            h = min(max(c for i, c in zip(rows, self.C) if y[i] == code) for code in columns)
            R, P = (root(x)[0] * (1 + Fraction(1, UNIT)) for x in (max(self.squares), primal))
            dual -= sum(map(abs, sums)) / 2 * (primal / h + 2 * R * P)
        self.bounds(claim, primal, 0, -INF if wrong else dual, 0, [f.b for f in fs], sums)

    def margins(self, claim, f, k):  # margin bracket of a hard margin or a perceptron
        hard, ones, best = self.problem["loss"] == "hard_margin", self.problem.get("intercept", False), (INF, 0)
        inner, free, lengths = claim.get("bracket", claim), hard and self.rho == 0, [Fraction(1)] * len(self.rows)
        points, q, error = [f.squares[i] + ones for i in self.rows], list(map(mul, self.t, self.F)), f.error
        if "proof.centre" in self.tensors and free and "kernel" not in self.problem:  # else planes do not move with it
            c = Linear(self, self.tensors["proof.centre"][0], 0)
            points = [p - 2 * c.F[i] + c.norm for i, p in zip(self.rows, points)]
        (R, R_error), (length, e) = root(max(points)), root(f.norm + ones * f.b**2, f.norm_error)
        if self.problem.get("normalize"):  # products with points of length one, up to ``error``
            bits = 2 * BITS + f.norm.denominator.bit_length()
            error, lengths, R, R_error = Fraction(1, 1 << bits), [root(p)[0] or 1 for p in points], any(points), 0
            q = [Fraction(int((s * 2**bits) / x), 1 << bits) for s, x in zip(q, lengths)]
        for weights in (self.beta, *([row[i] for i in self.rows] for row in self.tensors.get("hull_weights_", ()))):
            a = (balanced if free else list)([abs(b) * y * (not hard or b * y > 0) for b, y in zip(weights, self.t)])
            if weight := sum(abs(x) * y for x, y in zip(a, lengths)):
                square, u_error = f.square(dict(zip(self.rows, a)))
                u, u_error = root(square + ones * sum(a) ** 2, u_error)
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
            signs, witness = dict(zip(self.rows, self.t)), (self.data or {}).get("hulls", [()] * (k + 1))[k]
            c = {i: int(x, 16) * signs[i] for i, x in witness or () if i in signs}
            zero = not any(self.combination(c)[: self.d + (ones or free)]) and all(c[i] * signs[i] > 0 for i in c)
            self.say("hulls_meet", zero if c else None, "weights that cancel" if c else "the file has no exact weights")
        self.say("lower <= upper <= radius", inner["lower"] <= inner["upper"] <= inner["radius"])
        return None if inner is claim else self.mistakes(claim, k, q, error, e * bool(length), lengths)

    def mistakes(self, claim, k, margins, error, e, lengths):  # margins up to error, and the share e of their size
        bound, M, updates, n = claim["bound"], claim["mistakes"], self.attributes["n_updates_"][k], len(margins)
        passes = len(self.tensors.get(f"mistakes_per_pass_.{k}", [range(self.attributes.get("n_iter_", 1))])[0]) or 1
        steps = (abs(b) * x / m for b, x, m in zip(self.beta, lengths, self.m) if abs(b) * 2**1000 > 1)
        shown = float(total(steps)[0] / Fraction(self.problem["step"]))  # updates, by the duals
        self.say("mistakes", shown * (1 - 1e-9) <= updates == M <= bound, f"{shown!r} <= {updates} = {M} <= {bound!r}")
        if bound == INF or not self.holds("gamma", 5e-324, claim["gamma"]):
            return bound == INF and self.say("gamma, deficit, bound", True, "no bound is claimed")
        gamma, deficit, radius = (Fraction(claim[name]) for name in ("gamma", "deficit", "radius"))
        T = passes * sum(max(0, gamma - s) for s in margins)
        self.holds("deficit", T, deficit, passes * n * (2 * gamma * e + error) + T * e)
        start, b = (self.tensors.get(f"{name}_init_", [()] * (k + 1)) for name in ("coef", "intercept"))
        step, ratio = Fraction(self.problem["step"]) * max(self.m), max(self.m) / min(self.m)
        a, e = root(sum((v / step) ** 2 for v in (*start[k], *b[0][k : k + 1])))
        quotient = (radius / gamma) ** 2 * (n if self.problem["rule"] == "batch" else 1)
        return self.holds("bound", ratio * (quotient + 2 * (deficit + a) / gamma), bound, ratio * 2 * e / gamma)

    def all_tasks(self):  # section 4: for every task its signs or targets, scores and duals
        tensors, K, loss, pairs = self.tensors, {}, self.problem["loss"], list(combinations(range(self.k), 2))
        several = self.k > 2 and "kernel" in self.problem and loss != "perceptron"  # one against one
        signs = [[(c == a) - (c == b) for c in self.y] for a, b in pairs if several]
        signs = signs or [[2 * (c == a) - 1 for c in self.y] for a in range(self.k)][self.k == 2 :] or [self.y]
        intercepts = tensors["intercept_"][0] if "intercept_" in tensors else self.attributes["intercept_"]
        if "kernel" not in self.problem:
            duals = tensors.get("dual_coef_", [()] * len(signs))
            for t, w, b, row in zip(signs, tensors["coef_"], intercepts, duals, strict=True):
                yield t, Linear(self, w, b), {i: x for i, x in enumerate(row) if x}
            return
        self.support(self.problem["kernel"])
        for task, (t, b) in enumerate(zip(signs, intercepts, strict=True)):
            duals = tensors["dual_coef_"][task:] if loss == "perceptron" else tensors["_duals"]
            one, other = pairs[task] if several else (0, 1)
            places = ((i, j, other - 1 if self.y[i] == one else one) for j, i in enumerate(tensors["support_"][0]))
            beta = {i: duals[row][j] for i, j, row in places if (t[i] or not self.k) and duals[row][j]}
            if loss == "perceptron":
                found, b = b, sum(beta.values()) if self.problem["intercept"] else Fraction(0)
                self.holds("intercept_", abs(b - found), sum(map(abs, beta.values())) / 2**37)
            yield t, Expansion(self, beta, b, K), beta

    def support(self, kernel):  # what predictions use besides the duals: the kernel, and rows of the data, by class
        tensors, support, n = self.tensors, self.tensors["support_"][0], (kernel or {}).get("degree", 1)
        known = kernel is not None and kernel.keys() == KERNELS.get(kernel["name"]) and n in range(6000)
        if not known or (len(support) + 1) * len(self.y) * max(9, n * n) > 36_000_000:  # a minute
            raise ArithmeticError("a precomputed or sigmoid kernel, or more than 4,000,000 kernel values")
        data, columns, ends = (tensors.get(f"support_vectors_.{x}", [()])[0] for x in ("data", "indices", "indptr"))
        sparse, dense = [zip(columns[a:b], data[a:b]) for a, b in pairwise(ends)], tensors.get("support_vectors_", ())
        need(len({*support} & {*range(len(self.y))}) == len(support), "support_: not rows of the data, each once")
        stored = [[(j, v) for j, v in row if v] for row in sparse or map(enumerate, dense)]
        self.say("support vectors", stored == [[*zip(*self.read[i])] for i in support], "rows of X")
        order, counts = (tensors.get(name, [()])[0] for name in ("_vote_order", "_n_support"))
        codes, order = [self.y[i] for i in support], order in ((), [*range(self.k)])
        same = not counts or (order and codes == sorted(codes) and counts == [*map(codes.count, range(self.k))])
        self.say("kernel, order", same and self.attributes["_kernel"] == kernel, "of the problem; by class")

    def decide(self, claims):  # section 5
        problem, get, loss = self.problem, self.problem.get, self.problem["loss"]
        lines = [[part.split() for part in line.split(":")] for line in PROBLEMS]
        table = {(name, loss): numbers for names, losses, *numbers in lines for name in names for loss in losses}
        must, *may = table[self.model["class"], loss]
        keys, g = {*problem, *["classes_"] * (self.k > 0)} - {"loss"}, (self.data or {}).get("class_factors")
        self.rho = INF if not get("intercept", True) or "intercept_scaling" in problem else get("intercept_penalty", 0)
        fits = {*must} <= keys <= {*must, *chain(*may)} and (loss != "hard_margin" or self.rho in (0, INF))
        fits &= "classes_" not in problem and all(problem[x] >= 0 for x in keys - {"classes_", "kernel", "rule"})
        fits &= not self.data or (g is None) == (self.model["parameters"].get("class_weight") is None)
        need(fits, "the problem or class_factors: not of the class and its parameters, or numbers below zero")
        factors, number = [max(0.0, g[c]) if g else 1.0 for c in self.y], bool if get("equal_weights") else float
        weights = [Fraction(number(max(0.0, a) * b)) for a, b in zip(self.s or repeat(1.0), factors)]
        D = self.D = max((x.as_integer_ratio()[1] for _, v in self.read for x in v), default=1)
        self.X = [([*j, self.d], [*(n * (D // d) for n, d in map(float.as_integer_ratio, v)), D]) for j, v in self.read]
        self.squares, C = [Fraction(sum(map(mul, v[:-1], v)), D**2) for _, v in self.X], get("C", INF)
        self.tasks, joint = list(self.all_tasks()), loss == "crammer_singer"
        method = self.multiclass if joint else self.margins if "margin" in loss or "perceptron" in loss else self.gap
        need(not claims or len(claims) in (len(self.tasks), joint), "not one certificate a task")
        if "support_" in self.tensors and "kernel" not in problem:
            self.say("support_", sorted({*chain(*(b for *_, b in self.tasks))}) == self.tensors["support_"][0], "duals")
        for k, (claim, (t, f, beta)) in enumerate(zip(claims, self.tasks)):
            self.prefix = f"task {k}: " if len(claims) > 1 else ""
            self.rows = [i for i in range(len(self.y)) if weights[i] and (t[i] or not self.k)]
            self.t, self.F, self.m = ([x[i] for i in self.rows] for x in (t, f.F, weights))
            self.C = [Fraction(C * float(x)) if C < INF else x for x in self.m]
            self.beta = [beta.get(i, 0) for i in self.rows]
            method(claim, f, k)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("model", "data", "--weights", "--target"):
        parser.add_argument(name)
    parser.add_argument("--zero-based", action="store_true")
    try:
        answers = Check(**vars(parser.parse_args()))
    except Unreadable as error:
        parser.exit(2, f"error: {error if isinstance(error, (OSError, ValueError)) else repr(error)}\n")
    problem = answers.problem | {"class_factors": (answers.data or {}).get("class_factors")}
    for claim, verdict, detail in [(answers.model["class"], "PROBLEM", problem), *answers]:
        print(repr(f"{verdict:12}{claim}: {detail}")[1:-1])  # control characters of a file are not printed as they are
    return int("FALSE" in (verdict for _, verdict, _ in answers))


if __name__ == "__main__":
    raise SystemExit(main())
