"""`meanfield explore`: a page of this machine with sliders, rates, a prediction and a live run.

`physics` makes results of a setting of the sliders, and frames of its run for the view. `server`
answers the browser. The page itself is `page.html` and `explore.js`.
"""
