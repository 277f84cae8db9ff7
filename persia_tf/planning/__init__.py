"""Predicts what a run needs, from a model and a sample of its batches.

`ptf.plan` looks at the ids in the sample, and trains nothing. The modules here each
predict one thing; `plan` puts them together.
"""
