"""One block of an epoch of the kernel perceptron."""

from maxmargin.loops.jit import jit


@jit
def kernel_block_epoch(gram, signs, steps, scores, intercept_step, alpha_change):
    """Run through a block of rows in order, given their Gram matrix and their scores before the block.

    Adds the steps taken to ``alpha_change`` and updates the scores of the rows that follow in the block. Returns the
    number of updates and the sum of steps_i max(0, -y_i f(x_i)) at the time of evaluation.
    """
    updates = 0
    online_loss = 0.0
    for i in range(signs.size):
        margin = signs[i] * scores[i]
        if margin > 0.0:
            continue
        change = signs[i] * steps[i]
        alpha_change[i] += steps[i]
        for j in range(i + 1, signs.size):
            scores[j] += change * (gram[i, j] + intercept_step)
        updates += 1
        online_loss -= steps[i] * margin
    return updates, online_loss
