"""Trained encoders beside the theory: read, replayed layer by layer, compared with equations.

`safetensors` and `wordpiece` read files and texts, `encoder` takes the steps, `loading` puts an
encoder together; `heads`, `ladder` and `token_limit` measure it, and `replay` does all of that for
given texts.
"""
