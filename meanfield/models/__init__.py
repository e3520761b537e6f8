"""Trained models beside the theory: read, replayed layer by layer, compared with equations.

`safetensors` reads weights, also from GGUF files, and `byte_pairs` texts. `encoder` takes the steps
of encoders, and `encoder_files` loads them; `decoder` does both for decoders.
`heads` measures a model, `replay` does so for given texts, and `token_limit` is of encoders.
`diagnosis` sets a model beside an untrained copy, and `monitor` measures arrays of any model.
"""
