"""One block of a pass of the kernel perceptron."""

from maxmargin.loops.jit import jit


@jit
def kernel_block_pass(gram, signs, steps, scores, intercept_step, alpha_change):
    """Visit a block of rows in order, given their gram matrix and their scores before the block.

    Adds the steps taken to ``alpha_change`` and keeps the scores of the rows still to come up to date. Returns the
    number of updates and the sum of steps_i max(0, -y_i f(x_i)), as it was met.
    """
    updates = 0
    criterion = 0.0
    for i in range(signs.size):
        margin = signs[i] * scores[i]
        if margin > 0.0:
            continue
        change = signs[i] * steps[i]
        alpha_change[i] += steps[i]
        for j in range(i + 1, signs.size):
            scores[j] += change * (gram[i, j] + intercept_step)
        updates += 1
        criterion -= steps[i] * margin
    return updates, criterion
