# SPDX-License-Identifier: BSD-3-Clause
"""Flight records, as PyTorch's own tool understands them."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from started import run

pytest.importorskip("torch", reason="PyTorch is not there")

ON = {"TORCH_FR_BUFFER_SIZE": "100", "TORCH_NCCL_COORD_CHECK_MILSEC": "200"}


def analysis(folder: Path, *options: str) -> str:
    """What `torchfrtrace` says."""
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", str(folder), *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def fail(ranks: int, kind: str, folder: Path, **settings: str) -> Path:
    """Runs a job that goes wrong; the folder of what it has dumped."""
    dumps = folder / "dumps"
    run(ranks, "recorded", folder, kind, **ON, TORCH_FR_DUMP_TEMP_FILE=f"{dumps}/rank_", **settings)
    return dumps


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    """Of a job of three ranks that ends well."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "dumps").mkdir()
    for rank in run(3, "recorded", folder, "good", folder / "dumps" / "rank_", **ON):
        assert rank.returncode == 0, rank.stderr
    return folder / "dumps"


def test_the_tool_finds_nothing_wrong_with_a_good_job(good):
    said = analysis(good)
    assert "missing" not in said and "error" not in said and "mismatch" not in said.lower(), said


def test_the_tool_matches_each_call_of_the_ranks(good, tmp_path):
    analysis(good, "-o", str(tmp_path / "found"))
    _, found = pickle.loads((tmp_path / "found").read_bytes())
    names = [each.collective_name.removeprefix("gloo:") for each in found.collectives]
    messages = [name for name in names if name.startswith(("send", "recv"))]
    assert len(messages) == 7  # two around the ring, and one from rank 0 to rank 2
    assert [name for name in names if name not in messages] == [
        "all_reduce", "all_reduce", "all_reduce", "allreduce_coalesced", "reduce", "broadcast",
        "all_gather", "all_gather_v", "all_gather", "reduce_scatter", "gather", "scatter",
        "all_to_all", "barrier", "all_reduce",
    ]  # fmt: skip
    assert all(each.pass_check for each in found.collectives)
    groups = {each.desc: each.size for each in found.groups}
    assert groups["tensor parallel"] == 2


def test_a_record_has_what_pytorchs_own_has(good):
    record = pickle.loads((good / "rank_1").read_bytes())
    assert record["version"] == "2.10"
    assert record["pg_config"]["0"] == {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}
    own = {"name": "1", "desc": "tensor parallel", "ranks": "[0, 1]"}
    assert record["pg_config"]["1"] == own
    assert record["pg_status"]["0"]["last_enqueued_collective"] == 14
    assert record["pg_status"]["0"]["last_completed_collective"] == 14
    first = record["entries"][0]
    assert first["profiling_name"] == "gloo:all_reduce"
    assert (first["record_id"], first["collective_seq_id"], first["op_id"]) == (0, 1, 1)
    assert first["process_group"] == ("0", "default_pg")
    assert first["input_sizes"] == first["output_sizes"] == [[4]]
    assert first["input_dtypes"] == first["output_dtypes"] == ["Float"]
    assert (first["state"], first["retired"], first["is_p2p"]) == ("completed", True, False)
    assert first["timeout_ms"] == 60_000
    ended = first["time_discovered_completed_ns"]
    assert first["time_created_ns"] <= ended and first["duration_ms"] >= 0
    frames = [(each["name"], each["filename"]) for each in first["frames"]]
    assert ("<module>", str(Path(__file__).parent / "jobs" / "recorded.py")) in frames
    assert not any("stretto/torch" in filename for _, filename in frames)
    assert all(each["state"] == "completed" for each in record["entries"])


def test_the_tool_names_the_rank_that_did_not_come(tmp_path):
    said = analysis(fail(3, "late", tmp_path))
    assert "Not all ranks joining collective, sequence number: 15" in said
    assert "missing ranks: {2}" in said
    assert "collective: gloo:all_reduce" in said and "collective state: started" in said
    assert "jobs/recorded.py" in said  # where the others wait


def test_the_tool_names_the_rank_that_sent_no_message(tmp_path):
    said = analysis(fail(2, "silent", tmp_path))
    assert "group info: 0 1->0 tag 9:default_pg" in said
    assert "missing ranks: {1}" in said


def test_the_tool_shows_collectives_that_do_not_match(tmp_path):
    said = analysis(fail(3, "mismatch", tmp_path))
    assert "Collective sequence number: 15 has errors" in said
    assert re.search(
        r"Culprit rank \d; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: "
        r"'(all_reduce|broadcast)' does not match found collective type: '(broadcast|all_reduce)'",
        said,
    )


def test_errors_write_no_record_if_that_is_not_wanted(tmp_path):
    assert not fail(2, "mismatch", tmp_path, TORCH_NCCL_DUMP_ON_TIMEOUT="0").exists()


def test_nothing_is_recorded_by_default(tmp_path):
    for rank in run(2, "recorded", tmp_path, "good", TORCH_FR_BUFFER_SIZE="0"):
        assert "UnsupportedError: no calls are recorded: set TORCH_FR_BUFFER_SIZE" in rank.stderr


def test_the_last_calls_are_kept(tmp_path):
    for rank in run(2, "recorded", tmp_path, "good", tmp_path / "few_", TORCH_FR_BUFFER_SIZE="3"):
        assert rank.returncode == 0, rank.stderr
    entries = pickle.loads((tmp_path / "few_0").read_bytes())["entries"]
    numbers = [each["record_id"] for each in entries]
    assert len(numbers) == 3 and numbers == [numbers[0] + i for i in range(3)] and numbers[0] > 10
