import Accounts
import Foundation
import Glibc
import Testing
import Wire

@Suite("root and prefixes") struct DirectoryTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    @Test("directories are private whatever the umask", arguments: [0, 0o077, 0o022])
    func umasks(mask: mode_t) throws {
        try withUmask(mask) {
            let (root, notes) = try Root.make(at: scratch.path + "/a/b/root")
            let prefix = root.prefix(try #require(Profile("dev/demo")))
            #expect(try prefix.make().isEmpty)
            #expect(notes.isEmpty)
            for path in ["/a", "/a/b", "/a/b/root", "/a/b/root/dev", "/a/b/root/dev/demo"] {
                #expect(try mode(scratch.path + path) == 0o700)
            }
            #expect(try mode(prefix.node) == 0o700)
            #expect(try mode(prefix.log) == 0o700)
            #expect(prefix.path == scratch.path + "/a/b/root/dev/demo")
            #expect(prefix.journal == prefix.path + "/journal.sqlite")
            #expect(try prefix.make().isEmpty, "a second time is no change")
        }
    }

    @Test("a directory that others may enter is closed, and a note says so") func tightened() throws {
        let prefix = try scratch.prefix()
        chmod(prefix.path, 0o755)
        chmod(prefix.root.path, 0o770)
        let (_, notes) = try Root.make(at: prefix.root.path)
        #expect(notes == ["\(prefix.root.path) had mode 770 and has 700 now"])
        #expect(try prefix.make() == ["\(prefix.path) had mode 755 and has 700 now"])
        #expect(try mode(prefix.path) == 0o700)
    }

    @Test("a link in the root's own path is the operator's choice") func linkedRoot() throws {
        try FileManager.default.createDirectory(atPath: scratch.path + "/real", withIntermediateDirectories: false)
        symlink(scratch.path + "/real", scratch.path + "/link")
        #expect(try Root.make(at: scratch.path + "/link/root").root.path == scratch.path + "/real/root")
    }

    @Test("a link below the root is refused", arguments: ["dev", "dev/demo", "dev/demo/node", "dev/demo/log"])
    func linkBelow(place: String) throws {
        let root = try scratch.root()
        let elsewhere = scratch.path + "/elsewhere"
        try FileManager.default.createDirectory(atPath: elsewhere + "/demo", withIntermediateDirectories: true)
        let parent = (root.path + "/" + place as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        symlink(elsewhere, root.path + "/" + place)
        let prefix = root.prefix(try #require(Profile("dev/demo")))
        let error = #expect(throws: AccountsError.self) { try prefix.make() }
        #expect(error?.code == .unsafePath)
        #expect(error?.path == root.path + "/" + place)
        #expect(error?.message.contains("symbolic link") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == ["demo"], "nothing was made there")
    }

    @Test("a file in a directory's place is refused") func fileInPlace() throws {
        let root = try scratch.root()
        try put(root.path + "/dev", "")
        let prefix = root.prefix(try #require(Profile("dev/demo")))
        let error = #expect(throws: AccountsError.self) { try prefix.make() }
        #expect(error?.code == .unsafePath)
        try put(scratch.path + "/file", "")
        #expect(throws: AccountsError.self) { _ = try Root.make(at: scratch.path + "/file/root") }
        #expect(throws: AccountsError.self) { _ = try Root.make(at: scratch.path + "/file") }
    }

    @Test("a relative root is made where the process stands") func relative() throws {
        let here = FileManager.default.currentDirectoryPath
        let name = "nodebus-relative-" + UUID().uuidString
        defer { rmdir(here + "/" + name) }
        #expect(try Root.make(at: name).root.path.hasSuffix("/" + name))
    }

    @Test("a directory of another user is refused", .enabled(if: geteuid() == 0)) func anothersDirectory() throws {
        let prefix = try scratch.prefix()
        chown(prefix.path, 12345, 12345)
        let error = #expect(throws: AccountsError.self) { try prefix.make() }
        #expect(error?.code == .unsafePath)
        #expect(error?.message == "it belongs to another user")
    }

    @Test("checking an account makes nothing") func checking() throws {
        let root = try scratch.root()
        let prefix = root.prefix(try #require(Profile("dev/none")))
        let error = #expect(throws: AccountsError.self) { try prefix.check() }
        #expect(error?.code == .missing)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root.path).isEmpty)
        try scratch.prefix().check()
    }
}
