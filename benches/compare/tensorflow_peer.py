"""Times TensorFlow on the CPU, in eager mode. Omits crops and updates. Each call makes a new output."""

import os

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
from common import Peer, data, indices


def ways(workload):
    if workload["op"] in ("crop", "update"):
        return
    x = tf.constant(data(workload))
    if workload["op"] == "slice":
        bounds = workload["slices"]
        begin, end, strides = (
            tf.constant([default if part is None else part for part in parts], tf.int32)
            for parts, default in zip(zip(*bounds), (0, 0, 1))
        )
        begin_mask = sum(1 << at for at, bound in enumerate(bounds) if bound[0] is None)
        end_mask = sum(1 << at for at, bound in enumerate(bounds) if bound[1] is None)

        def run():
            return tf.strided_slice(
                x, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask
            )

    elif workload["op"] == "transpose":

        def run():
            return tf.transpose(x, workload["axes"])

    else:
        tuples = tf.constant(indices(workload))

        def run():
            return tf.gather_nd(x, tuples)

    yield "fresh", run, lambda result: result.numpy()


Peer("tensorflow", f"tensorflow {tf.__version__}").run(ways)
