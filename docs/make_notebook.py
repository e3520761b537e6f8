"""Make docs/tutorial.ipynb of docs/examples/plot_tutorial.py: its text and code, executed.

Cells are those of the gallery. They run in a kernel of this Python; an error ends it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

FOLDER = Path(__file__).parent
SCRIPT, NOTEBOOK = FOLDER / "examples" / "plot_tutorial.py", FOLDER / "tutorial.ipynb"
LARGEST = (820, 1200)


def main() -> None:
    """Convert, execute, write."""
    _, blocks = split_code_and_text_blocks(str(SCRIPT))
    made = jupyter_notebook(blocks, dict(DEFAULT_GALLERY_CONF), str(FOLDER))
    notebook = nbformat.reads(json.dumps(made), as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not told_once(output)]
            for data in (output.get("data", {}) for output in cell.outputs):
                if "image/png" in data:
                    data["image/png"] = smaller(data["image/png"])
    notebook.metadata.language_info.pop("version")
    nbformat.write(notebook, NOTEBOOK)
    print(f"{NOTEBOOK}: {NOTEBOOK.stat().st_size / 1000:.0f} kB")


def told_once(output: Any) -> bool:
    """True for what another execution would not show: kernels that are compiled, and bars."""
    bar = "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    return bar or output.get("name") == "stderr"


def smaller(image: str) -> str:
    """A figure with fewer pixels and colours: the notebook is kept in the repository."""
    picture = Image.open(BytesIO(b64decode(image))).convert("RGB")
    picture.thumbnail(LARGEST, Image.Resampling.LANCZOS)
    written = BytesIO()
    picture.quantize(96).save(written, "png", optimize=True)
    return b64encode(written.getvalue()).decode()


if __name__ == "__main__":
    main()
