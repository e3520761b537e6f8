"""Trained models beside the theory: read, replayed layer by layer, compared with equations.

Files and texts: `safetensors`, `gguf`, `wordpiece`, `byte_pairs`. `encoder` and `decoder` take the
steps, `encoder_files` and `decoder_files` put models together from their `parts`. `heads`, `ladder` and
`token_limit` measure an encoder, and `replay` does all of that for given texts.
`monitor` measures arrays of any model.
"""
