import Accounts
import Foundation
import Glibc
import Linux
import Testing
import Wire

/// A scratch directory, gone with the test, with what tests of files need.
final class Scratch {
    let path: String

    init() throws {
        let base = NSTemporaryDirectory() + "nodebus-accounts-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
        path = try #require(realpath(base, nil).map { String(cString: $0) })
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func root() throws -> Root { try Root.make(at: path + "/root").root }

    func prefix(_ profile: String = "dev/demo") throws -> Prefix {
        let prefix = try root().prefix(#require(Profile(profile)))
        try prefix.make()
        return prefix
    }
}

/// The permission bits of a path, links not followed.
func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(lstat(path, &status) == 0, "\(path) is not there")
    return status.st_mode & 0o7777
}

/// Makes a file with this text.
func put(_ path: String, _ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

private let umaskTurn = Lock(())

/// Runs `body` under a file mode mask. The mask belongs to the whole process, so such tests go one at a time.
func withUmask(_ mask: mode_t, _ body: () throws -> Void) throws {
    try umaskTurn.withLock { _ in
        let before = umask(mask)
        defer { umask(before) }
        try body()
    }
}

/// A Python program that runs beside the test: it takes its orders, and ends when the test ends.
final class OtherProcess {
    let process: ChildProcess
    private let socket: Descriptor

    /// Starts `code`, which finds the socket `s` to talk on, and waits until it has said a line.
    init(_ code: String, _ arguments: [String], inheriting extra: [Int32] = []) throws {
        let prelude =
            "import socket, sys, os, fcntl, subprocess\ns = socket.socket(fileno=3)\ndef say(x): s.sendall((str(x)+'\\n').encode())\n"
        let pair = try Descriptor.socketPair()
        process = try ChildProcess.spawn(
            path: "/usr/bin/python3", arguments: ["-c", prelude + code] + arguments,
            environment: ["PATH=/usr/bin:/bin"],
            standardOutput: 2, standardError: 2, inherited: [pair.theirs.raw] + extra)
        socket = pair.keepOurs()
    }

    /// The next line it says, within ten seconds.
    func line() throws -> String {
        var line: [UInt8] = []
        let deadline = Instant.now + .seconds(10)
        while true {
            var entry = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
            try #require(poll(&entry, 1, deadline.millisecondsFromNow()) == 1, "the other says nothing")
            var byte: UInt8 = 0
            try #require(read(socket.raw, &byte, 1) == 1, "the other ended")
            if byte == 0x0a { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }

    /// Kills it, and waits until it is gone.
    func end() throws {
        process.signal(SIGKILL)
        var entry = pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&entry, 1, 10_000) == 1, "the other does not end")
        _ = process.reap()
    }

    deinit { process.signal(SIGKILL) }
}
