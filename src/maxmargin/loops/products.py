"""Products of a block of rows with vectors: scores, transposed products, Gram matrices and Hessians.

``index`` holds the rows of the block; vectors over the rows have one entry for each entry of ``index``.
"""

from maxmargin.loops.jit import jit
from maxmargin.loops.rows import add_outer, add_scaled, add_squares, dot


@jit
def compute_scores(rows, index, w, b, scores):
    """f(x_i) = w·x_i + b"""
    for k in range(index.size):
        scores[k] = dot(rows, index[k], w) + b


@jit
def add_rows(rows, index, coefficients, total):
    """Add the sum of coefficients_i x_i to ``total``."""
    for k in range(index.size):
        add_scaled(rows, index[k], coefficients[k], total)


@jit
def count_entries(matrix, index, counts):
    """Store how many entries of the rows in ``index`` are not zero."""
    for k in range(index.size):
        row, count = matrix[index[k]], 0
        for j in range(row.size):
            count += row[j] != 0.0
        counts[k] = count


@jit
def store_entries(matrix, index, offsets, columns, values):
    """Store the entries of the rows in ``index`` that are not zero as those of a sparse matrix."""
    for k in range(index.size):
        row, place = matrix[index[k]], offsets[k]
        for j in range(row.size):
            if row[j] != 0.0:
                columns[place], values[place] = j, row[j]
                place += 1


@jit
def update_gram(rows, index, weights, gram):
    """Add sum weights_i (x_i, 1)(x_i, 1)^T to the lower triangle; the last row and column are the intercept's."""
    for k in range(index.size):
        add_outer(rows, index[k], weights[k], gram)


@jit
def hessian_product(rows, index, weights, direction, direction_b, image):
    """Add sum weights_i x_i (x_i·direction + direction_b) to ``image``, whose last entry is the intercept's."""
    last = image.size - 1
    image_of_w = image[:last]
    for k in range(index.size):
        i = index[k]
        factor = weights[k] * (dot(rows, i, direction) + direction_b)
        add_scaled(rows, i, factor, image_of_w)
        image[last] += factor


@jit
def hessian_diagonal(rows, index, weights, diagonal):
    """Add the diagonal of sum weights_i (x_i, 1)(x_i, 1)^T."""
    last = diagonal.size - 1
    of_w = diagonal[:last]
    for k in range(index.size):
        add_squares(rows, index[k], weights[k], of_w)
        diagonal[last] += weights[k]


@jit
def scores_and_rows(rows, index, weights, direction, direction_b, scores, image):
    """Compute the scores x_i·direction + direction_b, and add the rows times weights and scores to ``image``."""
    last = image.size - 1
    image_of_w = image[:last]
    for k in range(index.size):
        i = index[k]
        scores[k] = dot(rows, i, direction) + direction_b
        add_scaled(rows, i, weights[k] * scores[k], image_of_w)
        image[last] += weights[k] * scores[k]


@jit
def add_sparse_products(rows, first, by_columns, inner):
    """Add the inner products of sparse rows, from the row ``first`` on, with others to ``inner``.

    ``by_columns`` holds the other rows column by column: of every pair of rows only entries that meet are multiplied.
    """
    for k in range(inner.shape[0]):
        products = inner[k]
        for p in range(rows.offsets[first + k], rows.offsets[first + k + 1]):
            add_scaled(by_columns, rows.columns[p], rows.values[p], products)
