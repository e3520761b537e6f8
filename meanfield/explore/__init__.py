"""`meanfield explore`: a page of this machine with sliders, rates, a prediction and a live run.

`physics` says what a setting of the sliders means, `frames` what the view is told of its run, and
`server` answers the browser. The page itself is `page.html` and `explore.js`.
"""
