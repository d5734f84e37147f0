"""A camera's frames one by one: decode, crop, preprocess, infer, paste the result back.

Shows a pipeline of named stages. With OpenCV installed the stages use it, else the same in NumPy
(`decode_numpy`, `preprocess_numpy`); the network is one layer of NumPy either way.

    cairn run examples/cv.py
"""
import zlib

import numpy as np

try:
    import cv2
except ImportError:
    cv2 = None

FRAMES = 50
HEIGHT, WIDTH = 720, 1280
CROP = (slice(200, 520), slice(400, 880))
SMALL = 160


def encoded_frames():
    """What the camera sends: one still scene, a brighter square that wanders through it."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    scene = np.stack([rows % 251, columns % 241, (rows + columns) % 239], axis=2).astype(np.uint8)
    encoded = []
    for i in range(4):
        frame = scene.copy()
        frame[300 : 300 + 40 * i, 500 : 500 + 60 * i] = 255
        if cv2 is not None:
            encoded.append(cv2.imencode(".png", frame)[1])
        else:
            encoded.append(zlib.compress(frame.tobytes(), 1))
    return encoded


def decode_opencv(data):
    return cv2.imdecode(data, cv2.IMREAD_COLOR)


def decode_numpy(data):
    pixels = np.frombuffer(zlib.decompress(data), dtype=np.uint8)
    return pixels.reshape(HEIGHT, WIDTH, 3).copy()


def crop(frame):
    return frame[CROP]


def preprocess_opencv(region):
    small = cv2.resize(region, (SMALL, SMALL), interpolation=cv2.INTER_LINEAR)
    return small.astype(np.float32) / 255.0


def preprocess_numpy(region):
    """Bilinear, as cv2.resize does it, then into 0..1."""
    height, width = region.shape[:2]
    y = np.linspace(0, height - 1.001, SMALL)
    x = np.linspace(0, width - 1.001, SMALL)
    top, left = y.astype(int), x.astype(int)
    dy, dx = (y - top)[:, None, None], (x - left)[None, :, None]
    upper = region[top][:, left] * (1 - dx) + region[top][:, left + 1] * dx
    lower = region[top + 1][:, left] * (1 - dx) + region[top + 1][:, left + 1] * dx
    return ((upper * (1 - dy) + lower * dy) / 255.0).astype(np.float32)


def infer(image, kernels):
    """One convolution of 5 x 5, a rectifier, and the strongest answer for every pixel."""
    windows = np.lib.stride_tricks.sliding_window_view(image.mean(axis=2), (5, 5))
    answers = windows.reshape(windows.shape[0], windows.shape[1], 25) @ kernels
    return np.maximum(answers, 0).argmax(axis=2)


def paste_back(frame, labels):
    region = frame[CROP]
    rows = np.arange(region.shape[0]) * labels.shape[0] // region.shape[0]
    columns = np.arange(region.shape[1]) * labels.shape[1] // region.shape[1]
    region[..., 0] = labels[rows][:, columns] * 16
    return frame


def main():
    decode = decode_opencv if cv2 is not None else decode_numpy
    preprocess = preprocess_opencv if cv2 is not None else preprocess_numpy
    kernels = np.random.default_rng(0).standard_normal((25, 16)).astype(np.float32)
    camera = encoded_frames()
    checksum = 0
    for i in range(FRAMES):
        frame = decode(camera[i % len(camera)])
        labels = infer(preprocess(crop(frame)), kernels)
        checksum = zlib.crc32(paste_back(frame, labels), checksum)
    library = f"OpenCV {cv2.__version__}" if cv2 is not None else f"NumPy {np.__version__}"
    print(f"{FRAMES} frames with {library}, checksum {checksum:08x}")


if __name__ == "__main__":
    main()
