class KernelPerceptron: pass
