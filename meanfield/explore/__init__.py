"""`meanfield explore`: a local page with sliders, growth rates, a prediction and a live run.

`physics` computes results and frames for a setting of the sliders. `server` answers the browser.
The page is `page.html` and `explore.js`.
"""
