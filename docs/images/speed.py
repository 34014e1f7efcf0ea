"""Draws speed.svg from two tables of ratios in docs/PERFORMANCE.md, for Python libraries and for Rust crates:

    python3 docs/images/speed.py            writes speed.svg
    python3 docs/images/speed.py --check    fails if speed.svg does not match the tables
"""

import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
# For each half of the chart: its title, the first two cells of the table's header, the labels of its workloads, and its
# peers, which are the libraries or crates that it compares, with their colours.
HALVES = [
    ("Two cores, new tensor: time on the CPU ÷ the time of wgslice. Longer bars are slower", ["", "W1"],
     {"W1": "4-D crop", "W2": "reversed axis", "W3": "every 2nd of 2 axes", "W6": "u8 crop and flip",
      "W7": "embedding rows", "W9": "blocks by index pairs"},
     {"NumPy": "#4d77cf", "JAX": "#8a5fbf", "TensorFlow": "#e8833a", "PyTorch": "#d6493f"}),
    ("One thread, new array: the same for Rust crates", ["crate", "W1"],
     {"W1": "4-D crop", "W2": "reversed axis", "W6": "u8 crop and flip", "W7": "embedding rows", "W12": "transpose", "W13": "pixels to planes",
      "W14": "heads swapped"},
     {"ndarray": "#4d77cf", "candle": "#8a5fbf", "burn-flex": "#e8833a", "strided-perm": "#d6493f"}),
]
WIDTH, LEFT, BAR, GAP, TOP, MAX_RATIO = 760, 160, 11, 14, 66, 80


def ratios(header_cells, peers):
    """Returns the cells of a table by peer and workload. A cell is the peer's time ÷ wgslice's time, as text. The
    table's header begins with `header_cells`."""
    lines = (FOLDER.parent / "PERFORMANCE.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    header = next(number for number, row in enumerate(rows) if row[:2] == header_cells)
    cells_by_name = {}
    for row in rows[header + 2:]:
        if len(row) != len(rows[header]):
            break
        cells_by_name[row[0]] = dict(zip(rows[header][1:], (cell.strip("*") for cell in row[1:])))
    return {peer: cells_by_name[peer] for peer in peers}


def x(ratio):
    """Returns the x coordinate of a ratio, on a logarithmic scale that starts at 1."""
    return LEFT + (WIDTH - LEFT - 50) * math.log(max(ratio, 1)) / math.log(MAX_RATIO)


def draw_half(top, title, header_cells, workloads, peers):
    """Returns the SVG elements of a half that starts at the y coordinate `top`, and the y coordinate of its end."""
    ratios_by_peer = ratios(header_cells, peers)
    end = top + TOP + len(workloads) * (len(peers) * BAR + GAP) + 6
    elements = [f'<text x="{LEFT}" y="{top + 14}" font-weight="bold">{title}</text>']
    for number, (peer, colour) in enumerate(peers.items()):
        left = LEFT + number * 110
        elements.append(f'<rect x="{left}" y="{top + 26}" width="11" height="11" fill="{colour}"/>'
                        f'<text x="{left + 16}" y="{top + 36}">{peer}</text>')
    top += TOP
    for ratio in [1, 2, 5, 10, 20, 40, 80]:
        label = "wgslice = 1" if ratio == 1 else f"{ratio}×"
        elements.append(f'<line x1="{x(ratio):.1f}" x2="{x(ratio):.1f}" y1="{top - 6}" y2="{end}"/>'
                        f'<text x="{x(ratio):.1f}" y="{top - 10}" text-anchor="middle">{label}</text>')
    for workload, workload_label in workloads.items():
        measured = {peer: ratios_by_peer[peer][workload] for peer in peers}
        middle = top + len(peers) * BAR / 2 + 4
        elements.append(f'<text x="{LEFT - 8}" y="{middle:.1f}" text-anchor="end">{workload_label}</text>')
        for peer, colour in peers.items():
            # A crate that does not have the operation has no bar.
            if measured[peer] not in ("", "–"):
                ratio = float(measured[peer])
                elements.append(f'<rect x="{LEFT}" y="{top}" width="{x(ratio) - LEFT:.1f}" height="{BAR - 1}" fill="{colour}"/>'
                                f'<text x="{x(ratio) + 4:.1f}" y="{top + BAR - 1.5}" font-size="10">{ratio:g}</text>')
            top += BAR
        top += GAP
    return elements, end


def draw():
    elements, end = [], 0
    for number, half_content in enumerate(HALVES):
        half_parts, end = draw_half(end + 24 * number, *half_content)
        elements += half_parts
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {end}" font-family="sans-serif" font-size="12">',
        "<style>text { fill: #24292f } line { stroke: #d0d7de }"
        " @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } line { stroke: #444c56 } }</style>",
    ]
    return "\n".join([*head, *elements, "</svg>", ""])


if __name__ == "__main__":
    chart, file = draw(), FOLDER / "speed.svg"
    if "--check" in sys.argv[1:]:
        sys.exit(file.read_text() != chart and "speed.svg is not of today's tables: python3 docs/images/speed.py")
    file.write_text(chart)
