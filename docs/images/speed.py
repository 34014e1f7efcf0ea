"""Draws speed.svg from the first table of times in docs/PERFORMANCE.md:

    python3 docs/images/speed.py            writes it
    python3 docs/images/speed.py --check    fails if it is not what the table says
"""

import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
WORKLOADS = {"W1": "4-D crop", "W2": "reversed axis", "W3": "every 2nd of 2 axes", "W6": "u8 crop and flip",
             "W7": "embedding rows", "W9": "blocks by index pairs"}
PEERS = {"NumPy": "#4d77cf", "JAX": "#8a5fbf", "TensorFlow": "#e8833a", "PyTorch": "#d6493f"}
WIDTH, LEFT, BAR, GAP, TOP, MOST = 760, 160, 11, 14, 66, 80


def ratios():
    """For each peer and workload, the peer's time ÷ wgslice's time."""
    lines = (FOLDER.parent / "PERFORMANCE.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    header = next(row for row in rows if row[:2] == ["", "W1"])
    bare = lambda cell: cell.strip("*")
    return {row[0]: dict(zip(header[1:], map(bare, row[1:]))) for row in rows if row[0] in PEERS and len(row) == len(header)}


def x(ratio):
    """Logarithmic, from 1."""
    return LEFT + (WIDTH - LEFT - 50) * math.log(max(ratio, 1)) / math.log(MOST)


def draw():
    found = ratios()
    height = TOP + len(WORKLOADS) * (len(PEERS) * BAR + GAP) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        "<style>text { fill: #24292f } line { stroke: #d0d7de }"
        " @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } line { stroke: #444c56 } }</style>",
    ]
    parts.append(f'<text x="{LEFT}" y="14" font-weight="bold">Time on the CPU ÷ the time of wgslice: longer bars are slower</text>')
    for number, (peer, colour) in enumerate(PEERS.items()):
        at = LEFT + number * 110
        parts.append(f'<rect x="{at}" y="26" width="11" height="11" fill="{colour}"/><text x="{at + 16}" y="36">{peer}</text>')
    for ratio in [1, 2, 5, 10, 20, 40, 80]:
        label = "wgslice = 1" if ratio == 1 else f"{ratio}×"
        parts.append(f'<line x1="{x(ratio):.1f}" x2="{x(ratio):.1f}" y1="{TOP - 6}" y2="{height}"/>'
                     f'<text x="{x(ratio):.1f}" y="{TOP - 10}" text-anchor="middle">{label}</text>')
    top = TOP
    for workload, what in WORKLOADS.items():
        middle = top + len(PEERS) * BAR / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle:.1f}" text-anchor="end">{what}</text>')
        for peer, colour in PEERS.items():
            ratio = float(found[peer][workload])
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{x(ratio) - LEFT:.1f}" height="{BAR - 1}" fill="{colour}"/>'
                         f'<text x="{x(ratio) + 4:.1f}" y="{top + BAR - 1.5}" font-size="10">{ratio:g}</text>')
            top += BAR
        top += GAP
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    chart, file = draw(), FOLDER / "speed.svg"
    if "--check" in sys.argv[1:]:
        sys.exit(file.read_text() != chart and "speed.svg is not of today's table: python3 docs/images/speed.py")
    file.write_text(chart)
