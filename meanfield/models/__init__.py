"""Trained models beside the theory: read, replayed layer by layer, compared with equations.

Files and texts: `safetensors`, `gguf`, `wordpiece`, `byte_pairs`. `encoder` and `decoder` take the
steps, `encoder_files` and `decoder_files` put models together from their `parts`. `heads` and
`ladder` measure a model, `replay` does so for given texts, and `token_limit` is of encoders.
`diagnosis` sets a model beside an untrained copy, and `monitor` measures arrays of any model.
"""
