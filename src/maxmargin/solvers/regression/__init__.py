"""Logistic, ridge, lasso and Bayesian regression."""
