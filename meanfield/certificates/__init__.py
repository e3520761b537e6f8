"""What can be asked of runs and is proved: bounds that hold whatever the run does, or it is wrong.

`action` is about two times of one run, `radius` about two runs of one problem, `collapse` about
what a measure will come to. The constants are those of `theory.contraction`.
"""
