"""tests/py/test_vectors.py: the Python client against the golden vectors, both ways.

May touch: proto/py, tests/vectors.
"""
import json
import os
import struct
import unittest

from aegis_client import ContractError, nearest_place, read_body, read_moves, write_body
from aegis_client.bodies import unpack
from audit import dir_byte, grains, speed_byte

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors")
PINGS = (11, 12)


def load(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as file:
        return json.load(file)


def meant(meaning):
    """The value that a vector's meaning stands for."""
    if isinstance(meaning, dict):
        if set(meaning) == {"bin"}:
            return bytes.fromhex(meaning["bin"])
        if set(meaning) == {"int"}:
            return int(meaning["int"])
        return {key: meant(value) for key, value in meaning.items()}
    return [meant(one) for one in meaning] if isinstance(meaning, list) else meaning


def listed(value):
    """Tuples are the client's own way to say a list."""
    if isinstance(value, dict):
        return {key: listed(one) for key, one in value.items()}
    return [listed(one) for one in value] if isinstance(value, (list, tuple)) else value


class Messages(unittest.TestCase):
    def test_every_message_reads_as_what_it_means(self):
        vectors = load("messages.json")["vectors"]
        self.assertGreater(len(vectors), 80)
        for vector in vectors:
            with self.subTest(vector["name"]):
                data, meaning = bytes.fromhex(vector["hex"]), vector["meaning"]
                body = read_body(data[4:])
                self.assertEqual((body.cmd, body.seq), (meaning["cmd"], meaning["seq"]))
                self.assertEqual(struct.unpack(">I", data[:4])[0], len(data) - 4)
                payload = body.payload
                if body.cmd in PINGS:  # bytes, byte for byte
                    self.assertTrue(data.endswith(payload))
                    if not vector.get("canonical", True):
                        continue
                    payload = unpack(payload)
                self.assertEqual(listed(payload), meant(meaning["payload"]))

    def test_every_message_is_written_as_the_server_would(self):
        vectors = [v for v in load("messages.json")["vectors"] if v.get("canonical", True)]
        self.assertGreater(len(vectors), 30)
        for vector in vectors:
            with self.subTest(vector["name"]):
                meaning = vector["meaning"]
                body = write_body(meaning["cmd"], meaning["seq"], meant(meaning["payload"]))
                self.assertEqual(body.hex(), vector["hex"][8:])

    def test_what_is_read_is_written_again(self):
        for vector in load("messages.json")["vectors"]:
            body = read_body(bytes.fromhex(vector["hex"])[4:])
            if vector.get("canonical", True) and body.cmd not in PINGS:
                self.assertEqual(write_body(*body).hex(), vector["hex"][8:], vector["name"])

    def test_no_cut_of_any_message_is_a_body(self):
        for vector in load("messages.json")["vectors"]:
            body = bytes.fromhex(vector["hex"])[4:]
            for n in range(min(len(body), 2000)):
                with self.assertRaises(ContractError):
                    read_body(body[:n])

    def test_bodies_that_are_none_are_refused_or_read_but_never_fail_otherwise(self):
        refused = 0
        for vector in load("bad_frames.json")["vectors"]:
            try:
                # what only the gateway's walk refuses (nesting) may pass: a server never sends it
                read_body(bytes.fromhex(vector["hex"]))
            except ContractError:
                refused += 1
        self.assertGreater(refused, 20)


class Moves(unittest.TestCase):
    def test_packed_moves_read_as_they_mean(self):
        vectors = load("aoi_move.json")["vectors"]
        self.assertGreater(len(vectors), 15)
        for vector in vectors:
            meaning = vector["meaning"]
            records = read_moves(bytes.fromhex(vector["hex"]))
            with self.subTest(vector["name"]):
                self.assertEqual(len(records), len(meaning["records"]))
                for record, wanted in zip(records, meaning["records"]):
                    self.record(record, wanted, meaning)

    def record(self, record, wanted, meaning):
        quantum = meaning["quantum"]
        self.assertEqual(list(record), [wanted.get(k) for k in ("id", "x", "y", "dir", "speed")])
        self.assertEqual([nearest_place(wire, last, quantum) for wire, last in
                          zip((record.x, record.y), wanted["last"])], wanted["place"])
        self.assertEqual([grains(c, quantum) % 65536 for c in wanted["exact"]], [record.x, record.y])
        if "exact_dir" in wanted:
            self.assertEqual(dir_byte(wanted["exact_dir"]), record.dir)
        if "exact_speed" in wanted:
            self.assertEqual(speed_byte(wanted["exact_speed"], meaning["max_speed"]), record.speed)

    def test_packed_moves_that_cannot_be_taken_are_not(self):
        bad = load("aoi_move.json")["bad"]
        self.assertGreater(len(bad), 5)
        for vector in bad:
            with self.subTest(vector["name"]), self.assertRaises(ContractError):
                read_moves(bytes.fromhex(vector["hex"]))
