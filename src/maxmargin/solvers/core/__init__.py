"""What all solvers share: options, result, monitor, Hessian systems."""
