"""Trained models, computed layer by layer and compared with the theory.

`safetensors` reads weights, also from GGUF files; `byte_pairs` cuts texts into tokens. `encoder`
has the layers of encoders, `encoder_files` loads them, and `decoder` does both for decoders.
`heads` measures heads and compares a model with simpler ones, `replay` does this for texts.
`token_limit` measures the mean-field limit of encoders. `diagnosis` compares a model with an
untrained copy. `monitor` measures hidden states of any model.
"""
