"""Writes stores.json: small Zarr stores as other programs write them, and the elements that a reader must find.

    python -m venv venv
    venv/bin/pip install numpy==2.4.6 zarr==3.1.6 numcodecs==0.16.6 tensorstore==0.1.86 xarray==2026.9.0 pandas==3.1.1 \
        netCDF4==1.7.5.1.post1 rasterio==1.4.4 ml_dtypes==0.6.0
    venv/bin/python scale/tests/data/stores.py

zarr-python, xarray, TensorStore, NetCDF-C 4.10.1 and GDAL 3.10.3 write their stores here. For zarr-java and
zarrita, this script writes the metadata in the form of these programs, and NumPy and zlib make the chunks.

The expected elements are the written elements. The exception is `v2/delta-float`: its codec rounds, so its elements are
read from the store.
"""

import json
import os
import tempfile
import warnings
import zlib
from pathlib import Path

import ml_dtypes
import netCDF4
import numcodecs as n
import numpy as np
import pandas as pd
import rasterio
import tensorstore as ts
import xarray as xr
import zarr

warnings.filterwarnings("ignore")
root = Path(tempfile.mkdtemp())
arrays = {}
SHAPE, CHUNK = (6, 10), (6, 8)
NUMBERS = (np.arange(60) // 3 * 37 % 101 - 30).reshape(SHAPE)


def record_expected(path, dtype, array):
    """Records the expected elements of the array at `path`. `dtype` is the name of their type in Zarr V3."""
    array = array.astype(array.dtype.newbyteorder("="))
    arrays[path] = {"data_type": dtype, "shape": array.shape, "elements": array.tobytes().hex()}


def v2(name, dtype, filters=None, compressor=None, order="C", array=NUMBERS, **more):
    array = array.astype(dtype)
    zarr_array = zarr.create_array(
        root / name, shape=SHAPE, chunks=CHUNK, dtype=dtype, zarr_format=2, order=order, filters=filters,
        compressors=compressor, **more,
    )
    zarr_array[...] = array
    # In `v2/delta-float` the differences are rounded, so their sums differ from `array`.
    record_expected(name, array.dtype.name, zarr_array[...] if name == "v2/delta-float" else array)


def v3(name, dtype, codecs, **more):
    array = NUMBERS.astype(dtype)
    write_v3(name, array.dtype.name, codecs, **more)
    zarr.open_array(root / name, mode="r+")[...] = array
    record_expected(name, array.dtype.name, array)


def write_v3(name, dtype, codecs, chunk=CHUNK, shape=SHAPE, fill=0, **more):
    (root / name).mkdir(parents=True)
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": codecs, "attributes": {}, **more,
    }
    (root / name / "zarr.json").write_text(json.dumps(metadata))


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


LITTLE, BIG = codec("bytes", endian="little"), codec("bytes", endian="big")


def numcodecs():
    for order in "CF":
        v2(f"v2/shuffle-zlib-{order}", "<i4", [n.Shuffle(4)], n.Zlib(4), order)
        v2(f"v2/shuffle-zlib-big-{order}", ">i4", [n.Shuffle(4)], n.Zlib(4), order)
        v2(f"v2/delta-{order}", "<i4", [n.Delta("<i4")], n.Zlib(4), order)
        v2(f"v2/delta-other-type-{order}", "<i8", [n.Delta("<i8", "<i2")], n.Zlib(4), order)
        v2(f"v2/delta-big-{order}", ">i2", [n.Delta(">i2")], n.Zlib(4), order)
        v2(f"v2/delta-other-order-{order}", ">i2", [n.Delta(">i2", "<i4")], n.Zlib(4), order)
        v2(f"v2/delta-shuffle-{order}", "<u2", [n.Delta("<u2"), n.Shuffle(2)], n.Zstd(1), order)
    v2("v2/zlib", "<i4", None, n.Zlib(1))
    v2("v2/zlib-level", "<i4", None, n.Zlib(-1))
    v2("v2/bz2", "<i4", None, n.BZ2(9))
    v2("v2/lz4", "<i4", None, n.LZ4())
    v2("v2/lz4-wide", "|u1", None, n.LZ4(), array=NUMBERS // 40)
    v2("v2/gzip", "<i4", None, n.GZip(3))
    v2("v2/blosc", "<i4", None, n.Blosc("zlib", 5, 1))
    v2("v2/delta-float", "<f4", [n.Delta("<f4")], n.Zlib(4), array=NUMBERS / 7)
    v2("v2/delta-float-exact", "<f8", [n.Delta("<f8", "<f4")], n.Zlib(4))
    v2("v2/crc32", "<i4", None, n.CRC32())
    v2("v2/crc32-end", "<i4", None, n.CRC32(location="end"))
    v2("v2/crc32-filter", "<i4", [n.CRC32()], n.Zlib(4))
    v2("v2/crc32c", "<i4", None, n.CRC32C())
    v2("v2/crc32c-start", "<i4", None, n.CRC32C(location="start"))
    v2("v2/adler32", "<i4", None, n.Adler32())
    v2("v2/fletcher32", "<i4", [n.Fletcher32()], n.Zlib(4))
    v2("v2/fixedscaleoffset", "<f8", [n.FixedScaleOffset(3, 10, "<f8", "<i2")], n.Zlib(4))
    v2("v2/quantize", "<f4", [n.Quantize(2, "<f4")], n.Zlib(4))
    v2("v2/bitround", "<f4", [n.BitRound(20)], n.Zlib(4))
    for name, configuration in {
        "zlib": {"level": 3}, "bz2": {"level": 3}, "lz4": {"acceleration": 1}, "gzip": {"level": 3},
        "zstd": {"level": 3}, "blosc": {"cname": "lz4", "clevel": 5, "shuffle": 1}, "shuffle": {"elementsize": 4},
        "crc32": {}, "crc32c": {}, "adler32": {}, "fletcher32": {},
    }.items():
        v3(f"v3/{name}", "<i4", [LITTLE, codec(f"numcodecs.{name}", **configuration)])
    delta = codec("numcodecs.delta", dtype="<i4")
    v3("v3/delta", "<i4", [delta, LITTLE])
    v3("v3/delta-big", "<i4", [delta, BIG])
    v3("v3/delta-other-type", "<i8", [codec("numcodecs.delta", dtype="<i8", astype="<i2"), LITTLE])
    v3("v3/bitround", "<f4", [codec("numcodecs.bitround", keepbits=20), LITTLE])
    v3("v3/quantize", "<f4", [codec("numcodecs.quantize", digits=2, dtype="<f4"), LITTLE])
    scaled = codec("numcodecs.fixedscaleoffset", scale=10, offset=3, dtype="<f8", astype="<i2")
    v3("v3/fixedscaleoffset", "<f8", [scaled, LITTLE])
    v3("v3/shards", "<i4", [codec(
        "sharding_indexed", chunk_shape=[3, 4], index_location="end", index_codecs=[LITTLE, {"name": "crc32c"}],
        codecs=[LITTLE, codec("numcodecs.shuffle", elementsize=4), codec("numcodecs.zlib", level=3)],
    )])


def xarray():
    temperature = (NUMBERS / 8).astype("f4")
    rain = np.abs(NUMBERS).astype("i2")
    days = np.arange(6, dtype="i8")
    data = xr.Dataset(
        {"t2m": (("time", "lon"), temperature, {"units": "K", "missing": np.nan, "range": [-np.inf, 1.5]})},
        coords={"time": pd.date_range("2026-01-01", periods=6), "lon": np.arange(10) * 36.0},
        attrs={"title": "small"},
    )
    data["rain"] = (("time", "lon"), rain / 10)
    encoding = {
        "rain": {"dtype": "int16", "scale_factor": 0.1, "_FillValue": -999, "chunks": (4, 10)},
        "t2m": {"chunks": CHUNK},
    }
    for form in (2, 3):
        name = f"xarray-v{form}"
        data.to_zarr(root / name, zarr_format=form, encoding=encoding, consolidated=True)
        record_expected(f"{name}/t2m", "float32", temperature)
        record_expected(f"{name}/rain", "int16", rain)
        record_expected(f"{name}/time", "int64", days)
        record_expected(f"{name}/lon", "float64", np.arange(10) * 36.0)


def netcdf():
    dataset = netCDF4.Dataset(f"file://{root}/netcdf#mode=nczarr,file", "w")
    dataset.createDimension("y", 6)
    dataset.createDimension("x", 10)
    for name, dtype, compression in [("zlib", "i4", "zlib"), ("bzip2", "f4", "bzip2"), ("zstd", "i2", "zstd")]:
        variable = dataset.createVariable(
            name, dtype, ("y", "x"), compression=compression, shuffle=compression == "zlib", chunksizes=(3, 10),
            fill_value=-99,
        )
        variable[:] = NUMBERS
        variable.units = "m"
        record_expected(f"netcdf/{name}", np.dtype(dtype).name, NUMBERS.astype(dtype))
    dataset.close()


def gdal():
    array = np.abs(NUMBERS).astype("u2")
    for form, compression in [("ZARR_V2", "ZLIB"), ("ZARR_V3", "GZIP")]:
        name = f"gdal-{form}".lower()
        with rasterio.open(
            root / name, "w", driver="Zarr", width=10, height=6, count=1, dtype="uint16", nodata=65535, FORMAT=form,
            BLOCKSIZE="6,8", COMPRESS=compression,
        ) as dataset:
            dataset.write(array, 1)
        record_expected(f"{name}/{name}", "uint16", array)


def tensorstore():
    def write_store(name, driver, dtype, numbers=NUMBERS, **metadata):
        if driver == "zarr3":
            metadata["data_type"] = dtype.name
        store = ts.open(
            {"driver": driver, "kvstore": {"driver": "file", "path": str(root / name)}, "metadata": metadata},
            create=True, dtype=dtype, shape=SHAPE,
        ).result()
        array = numbers.astype(dtype.numpy_dtype)
        # One chunk stays missing.
        store[:, :8] = array[:, :8]
        array[:, 8:] = 0 if store.fill_value is None else store.fill_value
        record_expected(name, dtype.name, array)

    for dtype in (ts.bfloat16, ts.float8_e5m2, ts.complex64):
        write_store(f"tensorstore-v2/{dtype.name}", "zarr", dtype, chunks=CHUNK, order="F", dimension_separator="/")
    grid = codec("regular", chunk_shape=CHUNK)
    floats = [ts.float8_e4m3fn, ts.float8_e4m3fnuz, ts.float8_e4m3b11fnuz, ts.float8_e5m2, ts.float8_e5m2fnuz]
    for dtype in floats:
        write_store(f"tensorstore-v3/{dtype.name}", "zarr3", dtype, NUMBERS / 4, chunk_grid=grid)
        write_store(f"tensorstore-v3/{dtype.name}-nan", "zarr3", dtype, NUMBERS / 4, chunk_grid=grid, fill_value="NaN")
        write_store(f"tensorstore-v3/{dtype.name}-one", "zarr3", dtype, NUMBERS / 4, chunk_grid=grid, fill_value=1.5)
    for dtype in (ts.bool, ts.int8, ts.uint8, ts.uint32, ts.uint64, ts.float16, ts.complex128):
        write_store(f"tensorstore-v3/{dtype.name}", "zarr3", dtype, chunk_grid=grid)
    for name in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"):
        # In a single block, Snappy would store these chunks uncompressed.
        blosc = codec("blosc", cname=name, clevel=9, shuffle="shuffle", typesize=8, blocksize=128)
        write_store(f"tensorstore-v3/blosc-{name}", "zarr3", ts.int64, chunk_grid=grid, codecs=[LITTLE, blosc])
    transpose, zstd = codec("transpose", order=[1, 0]), codec("zstd", level=1)
    write_store("tensorstore-v3/transposed", "zarr3", ts.uint16, np.abs(NUMBERS), chunk_grid=grid, codecs=[transpose, BIG, zstd])
    sharding = codec(
        "sharding_indexed", chunk_shape=[3, 4], codecs=[transpose, LITTLE, zstd, {"name": "crc32c"}],
        index_codecs=[LITTLE, {"name": "crc32c"}],
    )
    write_store("tensorstore-v3/sharded", "zarr3", ts.float64, chunk_grid=grid, codecs=[sharding], fill_value="NaN")
    sharding["configuration"]["index_location"] = "start"
    write_store("tensorstore-v3/sharded-start", "zarr3", ts.float64, chunk_grid=grid, codecs=[sharding], fill_value="NaN")


def java():
    """Writes a store as zarr-java does, with null for absent metadata and with the codec name `zlib`."""
    array = NUMBERS.astype(">i4")
    null = {"attributes": None, "dimension_names": None, "storage_transformers": None}
    write_v3("zarr-java", "int32", [BIG, codec("zlib", level=5)], chunk=SHAPE, **null)
    (root / "zarr-java/c/0").mkdir(parents=True)
    (root / "zarr-java/c/0/0").write_bytes(zlib.compress(array.tobytes(), 5))
    record_expected("zarr-java", "int32", array)


def zarrita():
    """Writes a store as zarrita does by default, without codecs and with null as the fill value."""
    array = NUMBERS.astype("<f4")
    array[:, 8:] = 0
    write_v3("zarrita", "float32", [], fill=None, dimension_names=["y", "x"])
    (root / "zarrita/c/0").mkdir(parents=True)
    (root / "zarrita/c/0/0").write_bytes(np.ascontiguousarray(array[:, :8]).tobytes())
    record_expected("zarrita", "float32", array)


def fills():
    """Writes Zarr V2 stores with fill values in various forms. Their second chunk is missing."""
    for name, dtype, fill, value in [
        ("float", "<i4", 0.0, 0), ("text", "<i4", "0", 0), ("number", "<i2", "-7", -7), ("null", "<i4", None, 0),
        ("null-complex", "<c8", None, 0), ("text-float", "<f8", "-9999", -9999), ("bool", "|b1", 1, 1),
        ("nan", "<f4", "NaN", np.nan),
    ]:
        path = root / f"fills/{name}"
        path.mkdir(parents=True)
        array = NUMBERS.astype(dtype)
        (path / "0.0").write_bytes(np.ascontiguousarray(array[:, :8]).tobytes())
        metadata = {
            "zarr_format": 2, "shape": SHAPE, "chunks": CHUNK, "dtype": dtype, "fill_value": fill, "order": "C",
            "filters": None, "compressor": None,
        }
        (path / ".zarray").write_text(json.dumps(metadata))
        array[:, 8:] = value
        record_expected(f"fills/{name}", array.dtype.name, array)


def scalars():
    """Writes arrays without dimensions, in C and Fortran order and with a transpose codec."""
    for form, more in [(2, {"order": "C"}), (2, {"order": "F"}), (3, {"filters": [zarr.codecs.TransposeCodec(order=())]})]:
        name = f"scalars/v{form}-{more.get('order', 'transposed')}"
        zarr_array = zarr.create_array(root / name, shape=(), chunks=(), dtype="int32", zarr_format=form, **more)
        zarr_array[...] = 7
        record_expected(name, "int32", np.array(7, "i4"))


def stale():
    """Writes arrays that were resized after the metadata of their group was consolidated."""
    for form in (2, 3):
        group = zarr.open_group(root / f"stale-v{form}", mode="w", zarr_format=form)
        for name in ("grown", "shrunk"):
            zarr_array = group.create_array(name, shape=SHAPE, chunks=CHUNK, dtype="int32", fill_value=-1)
            zarr_array[...] = NUMBERS
        zarr.consolidate_metadata(root / f"stale-v{form}")
        grown = np.full((8, 10), -1, "i4")
        grown[:6] = NUMBERS
        for name, array in [("grown", grown), ("shrunk", NUMBERS[:4, :5].astype("i4"))]:
            zarr.open_array(root / f"stale-v{form}/{name}", mode="r+").resize(array.shape)
            record_expected(f"stale-v{form}/{name}", "int32", array)


def omitted():
    """Writes shards that omit a chunk because each of its encoded elements equals the fill value."""
    encoded = np.concatenate([np.full(24, 5), np.arange(24)])
    shard = codec("sharding_indexed", chunk_shape=[24], codecs=[LITTLE], index_codecs=[LITTLE, {"name": "crc32c"}])
    delta = codec("numcodecs.delta", dtype="<i4", astype="<i2")
    scaled = codec("numcodecs.fixedscaleoffset", scale=10, offset=3, dtype="<f8", astype="<i2")
    for name, dtype, filter, array in [
        ("delta", "int32", delta, np.cumsum(encoded)), ("fixedscaleoffset", "float64", scaled, encoded / 10 + 3),
    ]:
        array = array.astype(dtype)
        write_v3(f"omitted/{name}", dtype, [filter, shard], chunk=(48,), shape=(48,), fill=5)
        zarr_array = zarr.open_array(root / f"omitted/{name}", mode="r+")
        zarr_array[:] = array
        assert (zarr_array[:] == array).all()
        record_expected(f"omitted/{name}", dtype, array)


for write in (numcodecs, xarray, netcdf, gdal, tensorstore, java, zarrita, fills, scalars, stale, omitted):
    write()
files = {}
for path in sorted(root.rglob("*")):
    if path.is_file() and not path.name.endswith(".__lock"):
        name, value = str(path.relative_to(root)), path.read_bytes()
        is_text = path.name == "zarr.json" or path.name.startswith(".z")
        files[name] = {"text": value.decode()} if is_text else {"hex": value.hex()}
lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in files.items()]
known_lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in arrays.items()]
output = Path(__file__).with_name("stores.json")
output.write_text(
    '{"files": {\n' + ",\n".join(lines) + '\n}, "arrays": {\n' + ",\n".join(known_lines) + "\n}}\n"
)
print(f"{output}: {len(files)} files, {len(arrays)} arrays, {os.path.getsize(output)} bytes")
