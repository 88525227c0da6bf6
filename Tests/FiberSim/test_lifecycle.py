"""Start, stop, the files, and what is undefined behaviour with the real library."""

import ctypes
import os
import re
import socket
import sqlite3
import stat
import threading

import abi
from abi import CONFIG, SIMULATION, Node, key_path, options
from fresh import FreshCase, fresh


class StartAndStop(FreshCase):
    @fresh
    def test_first_start(self, library):
        node = self.node(library)
        node.wait_kind("ChannelReady")
        self.assertTrue(node.before_handle, "NetworkStarted comes before the program has the handle")
        peers = node.peers()
        bob = [event for event in node.events if event.get("pubkey") == peers["bob"]["pubkey"]]
        self.assertEqual(
            [event["kind"] for event in bob],
            ["PeerConnected", "ChannelCreated", "RemoteTxComplete", "RemoteCommitmentSigned", "ChannelReady"])
        self.assertEqual(node.kinds()[0], "NetworkStarted")
        started = node.events[0]
        self.assertRegex(started["pubkey"], "^0[23][0-9a-f]{64}$")
        self.assertRegex(started["listening_addrs"][0], r"^/ip4/127\.0\.0\.1/tcp/[1-9][0-9]*/p2p/Qm\w{44}$")
        self.assertRegex(started["listening_addrs"][1], r"/tcp/[1-9][0-9]*/ws/p2p/Qm")
        ready = node.wait_kind("ChannelReady")
        listed = node.channels()[0]
        self.assertEqual(ready["out_point"], "OutPoint(%s)" % listed["channel_outpoint"])
        self.assertEqual(ready["channel_id"], listed["channel_id"])
        self.assertNotEqual(bob[1]["channel_id"], listed["channel_id"], "ChannelCreated has the temporary id")
        node.stop()
        self.assertEqual(node.kinds()[-1], "NetworkStopped")
        self.assertEqual(len(node.threads), 1)
        self.assertNotIn(threading.get_native_id(), node.threads)

    def test_restart_says_everything_again(self):
        def first(library):
            node = self.node(library)
            node.wait_kind("ChannelReady")
            print("ID", node.json("fiber_node_info")["pubkey"], node.channels()[0]["channel_id"])
            node.stop()

        def second(library):
            node = self.node(library)
            ready = node.wait_kind("ChannelReady")
            print("ID", node.json("fiber_node_info")["pubkey"], ready["channel_id"])
            kinds = [e["kind"] for e in node.events if e.get("pubkey") == node.peers()["bob"]["pubkey"]]
            self.assertEqual(kinds, ["PeerConnected", "ChannelCreated", "ChannelOnline", "ChannelReady"])
            self.assertEqual(node.wait_kind("ChannelCreated")["channel_id"], ready["channel_id"])
            self.assertEqual(len(node.channels()), 1)
            node.stop()

        self.assertEqual(
            re.findall("ID .*", self.succeed(first)), re.findall("ID .*", self.succeed(second)))

    @fresh
    def test_nothing_comes_after_stop(self, library):
        node = self.node(library)
        node.library.control(emit={"count": 1000000, "bytes": 100})
        node.stop()
        count = len(node.events)
        self.assertEqual(node.kinds()[-1], "NetworkStopped")
        threading.Event().wait(0.2)
        self.assertEqual(len(node.events), count)

    @fresh
    def test_without_a_callback(self, library):
        node = Node(library, self.directory)
        node.options.event_callback = type(node.callback)()
        node.start()
        node.poll(lambda: node.json("fiber_node_info")["channel_count"], lambda count: count == 1)
        self.assertFails(2, "without an event callback", library.control, emit={"count": 1})
        node.stop()

    @fresh
    def test_the_prefix_is_the_directory_of_the_file_when_it_is_null(self, library):
        node = Node(library, self.directory)
        os.rename(os.path.join(self.directory, "node", "ckb"), os.path.join(self.directory, "ckb"))
        node.options.database_prefix = None
        node.start()
        node.stop()
        self.assertTrue(os.path.exists(os.path.join(self.directory, "fiber", "store", "data.sqlite")))

    def test_the_log_says_on_stdout_that_it_is_simulated(self):
        def body(library):
            self.node(library, level=b"info").stop()
        self.assertIn("simulated Fiber node", self.succeed(body).splitlines()[0])

    @fresh
    def test_the_log_goes_to_the_file_that_is_named(self, library):
        log = os.path.join(self.directory, "fiber.log")
        os.environ["FIBER_FFI_LOG_FILE"] = log
        self.node(library, level=b"info").stop()
        with open(log, encoding="utf-8") as file:
            self.assertIn("simulated Fiber node", file.readline())


class OneStart(FreshCase):
    ACTOR = 'ActorAlreadyRegistered("root actor")'

    @fresh
    def test_while_running(self, library):
        node = self.node(library)
        other = Node(library, os.path.join(self.directory, "other"))
        self.assertFails(3, self.ACTOR, other.start)
        self.assertIsNone(other.handle.value)
        node.text("fiber_node_info")
        node.stop()

    @fresh
    def test_after_a_stop(self, library):
        self.node(library).stop()
        again = Node(library, self.directory)
        self.assertFails(3, "failed to init contracts context: Context already initialized", again.start)
        self.assertIsNone(again.handle.value)
        other = Node(library, self.directory, config=SIMULATION.replace("testnet", "mainnet"))
        self.assertFails(3, "cannot restart fiber with a different chain hash in the same process", other.start)

    @fresh
    def test_after_a_late_failure(self, library):
        self.assertFails(3, "Secret key file error", Node(library, self.directory, password=None).start)
        self.assertFails(3, self.ACTOR, Node(library, self.directory).start)

    @fresh
    def test_an_early_failure_leaves_the_start_free(self, library):
        self.assertFails(3, "services", Node(library, self.directory, config="fiber: {chain: testnet}").start)
        self.node(library).stop()


class ConfigurationFile(FreshCase):
    @fresh
    def test_each_fault_has_its_text(self, library):
        def start(config):
            Node(library, self.directory, config=config).start()

        parse = "failed to parse config file %s: " % os.path.join(self.directory, "config.yml")
        chain = os.path.join(self.directory, "node", "chain.toml")
        for config, text in [
                ("fiber: [", parse), ("services: fiber", parse), ("a: 1\na: 2", parse),
                ("services: [fiber, ckb, dance]", "unknown variant `dance`"),
                ("fiber: {}\nckb: {}\nservices: [fiber, ckb]", parse + "fiber: missing field `chain`"),
                ("ckb: {}", "must run at least one service in config services"),
                ("ckb: {}\nservices: []", "must run at least one service in config services"),
                ("ckb: {}\nservices: [ckb]", "fiber config must be set"),
                ("fiber: {chain: testnet}\nckb: {}\nservices: [ckb]",
                 "fiber service must be enabled in config services"),
                ("fiber: {chain: testnet}\nckb: {}\nservices: [fiber, rpc]",
                 "service fiber requires service ckb to be enabled"),
                ("fiber: {chain: testnet}\nckb:\nservices: [fiber, ckb]",
                 "runtime thread panicked during startup: have set base dir"),
                (CONFIG.replace("testnet", "chain.toml"), "failed to load chain spec: " + chain),
                (CONFIG.replace("testnet", "0x0"), "invalid type: integer `0x0`"),
                (CONFIG.replace("testnet", "12"), "fiber.chain: invalid type: integer `12`"),
                (CONFIG.replace("ckb:", "ckb:\n  deep: [{index: 0x0}]"), "invalid type: integer `0x0`"),
                (CONFIG.replace("chain:", "scripts: [{name: A, cell_deps: [{}]}]\n  chain:"),
                 "Invalid ScriptCellDep"),
                (CONFIG + "sim: {dance: 1}", "sim: unknown field `dance`"),
                (CONFIG + "sim: {confirm: 5}", "sim.confirm: invalid type: integer"),
                (CONFIG + "sim: {confirm: soon}", "sim.confirm: no duration"),
                (CONFIG + "sim: {peers: [{name: bob}, {name: bob}]}", "a second peer named bob"),
                (CONFIG + "sim: {peers: [{name: bob, channel: 500 CKB}]}", "a channel needs connect: true"),
                (CONFIG + "sim: {peers: [{name: bob, connect: true, channel: 98 CKB}]}", "no funding"),
                (CONFIG + "sim: {peers: [{name: bob, connect: true, channel: 100.123456789 CKB}]}", "no funding"),
                (CONFIG + "sim: {faults: [{call: fiber_stop, do: dance}]}", "unknown fault \"dance\""),
                (CONFIG + "sim: {faults: [{call: dance, do: hang}]}", "no call \"dance\"")]:
            self.assertFails(3, text, start, config)
        path = os.path.join(self.directory, "missing.yml")
        value = options("FiberStartOptions", config_path=path)
        handle = ctypes.c_void_p()
        self.assertEqual(library.fiber_start(ctypes.byref(value), ctypes.byref(handle)), 3)
        self.assertEqual(
            library.last_error(),
            "failed to read config file %s: No such file or directory (os error 2)" % path)

    @fresh
    def test_a_development_chain_is_a_file_in_the_data_directory(self, library):
        os.makedirs(os.path.join(self.directory, "node"))
        with open(os.path.join(self.directory, "node", "chain.toml"), "w", encoding="utf-8") as file:
            file.write("a chain of our own")
        node = self.node(library, config=CONFIG.replace("testnet", "chain.toml"))
        self.assertRegex(node.json("fiber_node_info")["chain_hash"], "^0x[0-9a-f]{64}$")
        node.stop()

    @fresh
    def test_the_chain_named_dev_comes_with_the_simulator(self, library):
        node = self.node(library, config=CONFIG.replace("testnet", "dev"))
        self.assertRegex(node.json("fiber_node_info")["chain_hash"], "^0x[0-9a-f]{64}$")
        for currency in (0, 3):
            value = options("FiberNewInvoiceOptions", amount=1, currency=currency)
            self.assertTrue(node.text("fiber_new_invoice", ctypes.byref(value)).startswith("fibd11"))
        node.stop()

    @fresh
    def test_what_the_file_says_shows_in_node_info(self, library):
        script = {"code_hash": "0x" + "ab" * 32, "hash_type": "type", "args": "0x01"}
        config = CONFIG.replace("chain:", """announced_node_name: alice
  announced_addrs: ["/ip4/1.2.3.4/tcp/8228"]
  tlc_expiry_delta: 9600000
  chain:""").replace("rpc_url", """udt_whitelist:
    - name: RUSD
      script: {code_hash: "0x%s", hash_type: type, args: "0x01"}
      auto_accept_amount: 1000
      cell_deps: [{type_id: {code_hash: "0x00", hash_type: type, args: "0x02"}}]
  rpc_url""" % ("ab" * 32))
        node = self.node(library, config=config)
        info = node.json("fiber_node_info")
        self.assertEqual(info["node_name"], "alice")
        self.assertEqual(info["addresses"], ["/ip4/1.2.3.4/tcp/8228"])
        self.assertEqual(info["tlc_expiry_delta"], 9600000)
        self.assertEqual(info["chain_hash"], "0x10639e0895502b5688a6be8cf69460d76541bfa4821629d86d62ba0aae3f9606")
        self.assertEqual(info["udt_cfg_infos"], [{
            "name": "RUSD", "script": script, "auto_accept_amount": 1000, "cell_deps": [{
                "cell_dep": None, "type_id": {"code_hash": "0x00", "hash_type": "type", "args": "0x02"}}]}])
        self.assertIs(info["simulated"], True)
        self.assertIn("sim", info["version"])
        node.stop()


class Files(FreshCase):
    def start_fails(self, text, key=None, **arguments):
        if key is not None:
            os.makedirs(os.path.dirname(key_path(self.directory)), exist_ok=True)
            with open(key_path(self.directory), "wb") as file:
                file.write(key)

        def body(library):
            self.assertFails(3, text, Node(library, self.directory, **arguments).start)
        self.succeed(body)

    def key(self):
        with open(key_path(self.directory), "rb") as file:
            return file.read()

    def test_the_key_is_rewritten_once_and_needs_its_password(self):
        self.succeed(lambda library: self.node(library).stop())
        rewritten = self.key()
        self.assertEqual((len(rewritten), rewritten[:1]), (77, b"s"))
        self.assertNotIn(bytes.fromhex(abi.KEY), rewritten)
        self.succeed(lambda library: self.node(library).stop())
        self.assertEqual(self.key(), rewritten)
        self.start_fails("Secret key file error: decryption failed: aead::Error", password="wrong")
        self.start_fails("please set FIBER_SECRET_KEY_PASSWORD environment variable", password=None)
        self.start_fails("aead::Error", key=rewritten[:-1])
        self.start_fails("aead::Error", key=rewritten[:40] + b"?" + rewritten[41:])
        self.start_fails("aead::Error", key=b"\0" + rewritten[1:])

    def test_whitespace_around_a_plain_key_is_taken(self):
        os.makedirs(os.path.dirname(key_path(self.directory)))
        with open(key_path(self.directory), "w", encoding="utf-8") as file:
            file.write("  %s\n" % abi.KEY.upper())
        self.succeed(lambda library: self.node(library).stop())
        self.assertEqual(len(self.key()), 77)

    def test_an_unset_password_leaves_a_plain_key_as_it_is(self):
        self.start_fails("please set FIBER_SECRET_KEY_PASSWORD", key=abi.KEY.encode(), password=None)
        self.assertEqual(self.key(), abi.KEY.encode())

    def test_a_plain_key_with_0x_is_refused_and_kept(self):
        self.start_fails("unsupported 0x prefix", key=b"0x" + abi.KEY.encode())
        self.assertEqual(self.key(), b"0x" + abi.KEY.encode())

    def test_hex_of_the_wrong_length_is_rewritten_and_refused(self):
        self.start_fails("invalid secret key data", key=b"1234")
        self.assertNotEqual(self.key(), b"1234")

    def test_a_missing_key(self):
        os.makedirs(os.path.dirname(key_path(self.directory)))

        def body(library):
            node = Node(library, self.directory)
            os.unlink(key_path(self.directory))
            text = self.assertFails(3, "No such file or directory", node.start)
            self.assertIn("failed to start ckb actor: Actor panicked during startup", text)
        self.succeed(body)

    def test_the_identity_is_made_once(self):
        self.succeed(lambda library: self.node(library).stop())
        path = os.path.join(self.directory, "node", "fiber", "sk")
        self.assertEqual(os.path.getsize(path), 32)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o400)
        os.chmod(path, 0o600)
        with open(path, "wb") as file:
            file.write(b"short")
        self.start_fails("5 bytes, expected 32")

    def test_two_processes_on_one_store(self):
        reading, writing = os.pipe()
        stopping, stop = os.pipe()

        def holder(library):
            node = self.node(library)
            os.write(writing, b"up")
            os.read(stopping, 1)
            node.stop()
            os.write(writing, b"down")
            os.read(stopping, 1)
        pid, output = self.begin(holder)
        self.assertEqual(os.read(reading, 2), b"up")
        second = self.child(lambda library: self.node(library))
        self.assertIn("LOCK: Resource temporarily unavailable", second.output)
        os.write(stop, b"1")
        self.assertEqual(os.read(reading, 4), b"down")
        self.succeed(lambda library: self.node(library).stop())
        os.write(stop, b"1")
        self.assertEqual(self.finish(pid, output).exit, 0)

    @fresh
    def test_a_taken_port(self, library):
        taken = socket.socket()
        taken.bind(("127.0.0.1", 0))
        config = CONFIG.replace("tcp/0", "tcp/%d" % taken.getsockname()[1])
        text = self.assertFails(3, "Address already in use", Node(library, self.directory, config=config).start)
        self.assertIn("listen tentacle", text)

    def test_a_store_of_a_newer_version(self):
        self.succeed(lambda library: self.node(library).stop())
        store = sqlite3.connect(os.path.join(self.directory, "node", "fiber", "store", "data.sqlite"))
        store.execute("PRAGMA user_version = 99")
        store.close()
        self.start_fails("Database version 99 is newer than the latest supported version")

    def test_the_store_is_closed_by_a_stop_whatever_is_under_way(self):
        def body(library):
            self.node(library).stop()
            store = os.path.join(self.directory, "node", "fiber", "store")
            self.assertEqual(sorted(os.listdir(store)), ["LOCK", "data.sqlite"])
        for _ in range(20):
            self.succeed(body)

    def test_a_damaged_store_is_reported_and_kept(self):
        self.succeed(lambda library: self.node(library).stop())
        path = os.path.join(self.directory, "node", "fiber", "store", "data.sqlite")
        with open(path, "wb") as file:
            file.write(b"not a database, but longer than a header of one" * 100)
        self.start_fails("not a database")
        with open(path, "rb") as file:
            self.assertTrue(file.read().startswith(b"not a database"))


class Misuse(FreshCase):
    def test_a_call_after_stop(self):
        def body(library):
            node = self.node(library)
            node.stop()
            node.text("fiber_node_info")
        self.assertAborts(body, "fiber_node_info with a handle that is stopped or was never made")

    def test_two_stops(self):
        def body(library):
            node = self.node(library)
            node.stop()
            node.stop()
        self.assertAborts(body, "fiber_stop with a handle that is stopped or was never made")

    def test_a_handle_from_nowhere(self):
        memory = ctypes.create_string_buffer(64)
        self.assertAborts(
            lambda library: library.fiber_list_peers(ctypes.addressof(memory), None), "was never made")

    def test_stop_during_a_call(self):
        def body(library):
            node = self.node(library)
            library.control(fault={"call": "fiber_node_info", "do": "slow:20s"})
            threading.Thread(target=node.text, args=["fiber_node_info"], daemon=True).start()
            node.poll(lambda: library.control(counters={})["calls"], lambda calls: "fiber_node_info" in calls)
            node.stop()
        self.assertAborts(body, "fiber_stop while 1 call(s) on the same handle are running")

    def test_stop_from_a_callback(self):
        def body(library):
            node = Node(library, self.directory)
            node.hook = lambda pointer, event: event["kind"] == "PeerConnected" and node.stop()
            node.start()
            node.wait_kind("NetworkStopped")
        self.assertAborts(body, "fiber_stop from an event callback")

    def test_a_string_freed_twice(self):
        def body(library):
            node = self.node(library)
            out = ctypes.c_void_p()
            library.fiber_node_info(node.handle, ctypes.byref(out))
            library.fiber_string_free(out)
            library.fiber_string_free(out)
        self.assertAborts(body, "freed twice")

    def test_a_string_that_is_not_ours(self):
        self.assertAborts(
            lambda library: library.fiber_string_free(
                ctypes.cast(ctypes.c_char_p(library.fiber_version()), ctypes.c_void_p)), "not ours")

    @fresh
    def test_a_string_that_is_kept_is_counted(self, library):
        node = self.node(library)
        outs = [ctypes.c_void_p() for _ in range(3)]
        for out in outs:
            library.fiber_node_info(node.handle, ctypes.byref(out))
        self.assertEqual(library.control(counters={})["strings_live"], 3)
        for out in outs:
            library.fiber_string_free(out)
        node.stop()

    def test_a_call_from_a_callback_is_refused(self):
        def body(library):
            node = Node(library, self.directory)
            seen = []

            def hook(pointer, event):
                if event["kind"] == "PeerConnected":
                    out = ctypes.c_void_p()
                    status = library.fiber_node_info(node.handle, ctypes.byref(out))
                    seen.append((status, library.last_error(), out.value))
                    seen.append((library.fiber_node_info(None, None), library.last_error()))
                    seen.append(library.fiber_version() is not None)
            node.hook = hook
            node.start()
            node.wait_kind("PeerConnected", 2)
            self.assertEqual(seen[:3], [(5, "fiber ffi call panicked", None), (1, "handle must be non-null"), True])
            node.text("fiber_node_info")
            node.stop()
        self.assertIn("from within the runtime", self.succeed(body))

    @fresh
    def test_an_event_is_overwritten_after_its_callback(self, library):
        node = Node(library, self.directory)
        kept = []
        whole = []

        def hook(pointer, event):
            if kept:
                address, text = kept[-1]
                whole.append(ctypes.string_at(address, len(text)) != b"\xdd" * len(text))
            kept.append((ctypes.addressof(pointer.contents), ctypes.string_at(pointer)))
        node.hook = hook
        node.start()
        node.wait_kind("ChannelReady")
        node.stop()
        self.assertGreater(len(whole), 5)
        self.assertNotIn(True, whole)
        address, text = kept[-1]
        self.assertEqual(ctypes.string_at(address, len(text)), b"\xdd" * len(text))

    @fresh
    def test_a_string_is_overwritten_when_it_is_freed(self, library):
        node = self.node(library)
        out = ctypes.c_void_p()
        library.fiber_node_info(node.handle, ctypes.byref(out))
        node.stop()
        text = ctypes.string_at(out.value)
        library.fiber_string_free(out)
        self.assertEqual(ctypes.string_at(out.value, len(text)), b"\xdd" * len(text))
