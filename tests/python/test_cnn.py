# SPDX-License-Identifier: BSD-3-Clause
"""The example of a convolutional network: its images, and with PyTorch its layers and training."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

CNN = Path(__file__).resolve().parents[2] / "examples" / "cnn"
sys.path.append(str(CNN))

import images  # noqa: E402
import recording  # noqa: E402

# ---- images


def cifar(folder: Path, changed: dict | None = None, count: int = 4) -> Path:
    """A folder with files as CIFAR-10 has them: names in bytes, pixels by channel."""
    for number, name in enumerate([*images.TRAINING, images.TEST]):
        pixels = np.random.default_rng(number).integers(0, 256, (count, 3072), np.uint8)
        batch = {b"data": pixels, b"labels": [n % 10 for n in range(count)], **(changed or {})}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    return folder


def test_cifar_is_read_by_channel(tmp_path):
    training, test = images.read_cifar(cifar(tmp_path))
    assert training.images.shape == (20, 3, 32, 32) and test.images.shape == (4, 3, 32, 32)
    assert training.images.dtype == np.float32 and training.labels.dtype == np.int64
    assert list(training.labels[:5]) == [0, 1, 2, 3, 0]
    pixels = np.random.default_rng(1).integers(0, 256, (4, 3072), np.uint8)  # of the second file
    assert training.images[5, 2, 31, 7] == np.float32(pixels[1, 2 * 1024 + 31 * 32 + 7] / 127.5 - 1)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({b"labels": [1, 2]}, r"shape \(4, 3072\)"),
        ({b"labels": [1, 2, 3, 10]}, "labels are from 1 to 10"),
        ({b"data": np.zeros((4, 3072))}, "float64"),
        ({b"data": Path("x")}, "it asks for pathlib"),  # a pickle that would call something
    ],
)
def test_what_is_not_cifar(tmp_path, changed, what):
    with pytest.raises(ValueError, match=what) as error:
        images.read_cifar(cifar(tmp_path, changed))
    assert "data_batch_1 is no batch of CIFAR-10" in str(error.value)


def test_cifar_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="data_batch_1"):
        images.read_cifar(tmp_path)


def test_images_grow_by_linear_steps():
    grey = np.array([[[0.0, 8.0], [16.0, 24.0]]])
    large = images.enlarged(grey)
    assert large.shape == (1, 3, 8, 8)
    np.testing.assert_array_equal(large[0, 0], large[0, 2])
    np.testing.assert_allclose(large[0, 1, 0], [0, 0, 1, 3, 5, 7, 8, 8])
    np.testing.assert_allclose(large[0, 1, :, 0], [0, 0, 2, 6, 10, 14, 16, 16])


def test_ranks_share_out_each_pass():
    plans = [list(islice(images.batches(26, 4, rank, 3, seed=1), 4)) for rank in range(3)]
    first, second = (np.concatenate([p for plan in plans for p in plan[i : i + 2]]) for i in (0, 2))
    for each in (first, second):  # two images too few for another round
        assert len(each) == len(set(each)) == 24
    assert list(first) != list(second)
    with pytest.raises(ValueError, match="26 images are too few for 7 ranks with 4 each"):
        next(images.batches(26, 4, 0, 7, seed=1))


# ---- the network


def test_the_network_has_as_many_parameters_as_the_papers():
    torch = pytest.importorskip("torch")
    import network

    assert sum(each.numel() for each in network.new_layers().parameters()) == 145_578
    kinds = [type(each).__name__ for each in network.new_layers()]
    assert [kinds.count(name) for name in ("Conv2d", "AvgPool2d", "Linear")] == [3, 3, 2]
    # In the flat vector without gaps, and in its place.
    vector = np.zeros(network.PARAMETERS, np.float32)
    made = network.Network(seed=1, parameters=vector)
    vector[:] = np.arange(network.PARAMETERS)
    flat = torch.nn.utils.parameters_to_vector(made.layers.parameters())
    np.testing.assert_array_equal(flat.detach().numpy(), vector)


def test_a_step_goes_down_the_slope_of_the_loss():
    torch = pytest.importorskip("torch")
    import network

    made = network.Network(seed=1)
    generator = np.random.default_rng(1)
    some = generator.uniform(-1, 1, (8, 3, 32, 32)).astype(np.float32)
    labels = np.arange(8)
    plain = network.new_layers()
    plain.load_state_dict(made.layers.state_dict())
    loss = torch.nn.functional.cross_entropy(plain(torch.from_numpy(some)), torch.arange(8))
    loss.backward()

    told = []
    assert made.learn(some, labels, 0.1, lambda: told.append(1)) == pytest.approx(loss.item())
    assert told == [1]
    for mine, theirs in zip(made.layers.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.data, theirs.data - 0.1 * theirs.grad)


def test_ranks_train_together(stretto):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    done = stretto("run", "-n", 2, sys.executable, CNN / "train.py")
    assert done.returncode == 0, done.stderr
    assert "2 ranks, 1,437 images, 390 steps of 8 images each; 145,578 parameters" in done.stdout
    assert "accuracy on 360 unseen images" in done.stdout


def test_one_rank_records(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    path = tmp_path / "steps.json"
    command = [sys.executable, CNN / "train.py", "--steps", "5", "--record", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert "more than 85% was expected" in done.stderr  # after so few steps
    recorded = recording.read(path)
    assert (recorded.parameters, recorded.batch, len(recorded.seconds)) == (145_578, 8, 5)
