"""Trained models beside the theory: read, replayed layer by layer, compared with equations.

Files and texts: `safetensors`, `gguf`, `byte_pairs`. `encoder` takes the steps of encoders,
`encoder_files` loads them and has the parts of models; `decoder_files` is the same of decoders.
`heads` measures a model, `replay` does so for given texts, and `token_limit` is of encoders.
`diagnosis` sets a model beside an untrained copy, and `monitor` measures arrays of any model.
"""
