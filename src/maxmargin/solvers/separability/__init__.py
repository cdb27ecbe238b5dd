"""Separability of two classes: linear program, exact simplex, quasi-complete separation."""
