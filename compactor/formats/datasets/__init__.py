"""Trajectories of evaluations, and data sets of conversations."""
