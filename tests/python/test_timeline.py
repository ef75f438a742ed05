# SPDX-License-Identifier: Apache-2.0
"""The timeline that `warploom run --out` leaves is a Perfetto trace: read by the official field numbers, not by ours.

Numbers: github.com/google/perfetto, protos/perfetto/trace/{trace_packet,track_event/*,interned_data/*}.proto.
"""

import json
import subprocess

import pytest


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def message(data):
    """Field number -> list of values (int for numbers, bytes for the rest)."""
    fields = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            assert wire == 2, f"wire type {wire}"
            length, at = varint(data, at)
            value, at = bytes(data[at : at + length]), at + length
            assert len(value) == length, "a message is cut off"
        fields.setdefault(tag >> 3, []).append(value)
    return fields


@pytest.fixture(scope="module")
def out(tmp_path_factory, warploom_binary):
    folder = tmp_path_factory.mktemp("run") / "out"
    subprocess.run([warploom_binary, "run", "experiments/llama3_8b_8_h100", "--quiet", "--out", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def trace(out):
    (path,) = out.glob("*perfetto*")
    whole = message(path.read_bytes())
    assert list(whole) == [1], "Trace.packet is the only field"
    return [message(packet) for packet in whole[1]]


@pytest.fixture(scope="module")
def tracks(trace):
    descriptors = [message(packet[60][0]) for packet in trace if 60 in packet]
    by_uuid = {track[1][0]: track for track in descriptors}
    assert len(by_uuid) == len(descriptors) and 0 not in by_uuid
    return by_uuid


def events(trace):
    return [(packet.get(8, [0])[0], message(packet[11][0])) for packet in trace if 11 in packet]


def test_there_is_one_process_a_role_and_its_threads_belong_to_it(out, tracks):
    roles = json.loads((out / "report.json").read_text())["roles"]
    processes = {uuid: message(track[3][0]) for uuid, track in tracks.items() if 3 in track}
    names = [process[6][0].decode() for process in processes.values()]
    assert [name.split(" (")[0] for name in names] == [role["name"] for role in roles]
    threads = [track for track in tracks.values() if 4 in track]
    assert threads
    for thread in threads:
        assert message(thread[4][0])[1] == processes[thread[5][0]][1], "pid of the parent"


def test_slices_are_balanced_ordered_and_do_not_overlap(trace, tracks):
    open_slices = {}
    last = {}
    begins = 0
    for time, event in events(trace):
        (track,) = event[11]
        assert track in tracks
        assert time >= last.get(track, 0)
        last[track] = time
        kind = event[9][0]
        if kind == 1:
            assert not open_slices.get(track)
            open_slices[track] = True
            begins += 1
        elif kind == 2:
            assert open_slices[track]
            open_slices[track] = False
        else:
            assert kind == 4 and 8 in tracks[track], "a value of a counter"
    assert begins > 0 and not any(open_slices.values())


def test_the_last_slice_ends_with_the_step(out, trace):
    step = json.loads((out / "report.json").read_text())["step_time_s"]
    end = max(time for time, event in events(trace) if event[9][0] == 2)
    assert end == pytest.approx(step * 1e9, abs=1)


def test_every_interned_text_is_described_before_its_use(trace):
    known = {1: set(), 2: set(), 3: set(), 29: set()}
    for packet in trace:
        for data in packet.get(12, []):
            for field, entries in message(data).items():
                known[field] |= {message(entry)[1][0] for entry in entries}
        for data in packet.get(11, []):
            event = message(data)
            assert set(event.get(3, [])) <= known[1]
            assert set(event.get(10, [])) <= known[2]
            for annotation in map(message, event.get(4, [])):
                assert set(annotation[1]) <= known[3]
                assert set(annotation.get(17, [])) <= known[29]


def test_arrows_begin_at_a_send_and_end_once(trace):
    begun, ended = [], []
    for _, event in events(trace):
        begun += event.get(47, [])
        ended += event.get(48, [])
        assert set(ended) <= set(begun), "an arrow that begins nowhere"
    assert len(begun) == len(set(begun)) and sorted(begun) == sorted(ended)


def test_memory_peaks_in_the_counters_at_what_the_report_says(out, trace, tracks):
    peaks = {}
    for _, event in events(trace):
        if event[9][0] == 4 and tracks[event[11][0]][2] == [b"memory"]:
            parent = tracks[event[11][0]][5][0]
            peaks[parent] = max(peaks.get(parent, 0), event[30][0])
    memory = json.loads((out / "report.json").read_text())["memory"]
    assert [peaks[uuid] for uuid in sorted(peaks)] == pytest.approx([role["peak_bytes"] for role in memory])
