import Glibc
import Wire

extension ConfigurationEntry {
    /// A source of passphrases: a mapping of exactly one of `file`, `credential` and `command`.
    func passphraseSource(relativeTo directory: String) -> PassphraseSource? {
        let example = "{file: /etc/nodebus/passphrase}, {credential: NAME} or {command: [/usr/bin/PROGRAM, …]}"
        let known = ["file", "credential", "command"]
        guard let section = section(known) else { return nil }
        let given = known.compactMap { name in section.optional(name).map { (name, $0) } }
        guard given.count == 1, let (name, entry) = given.first else {
            // An unknown key has its own fault.
            if node.mapping?.allSatisfy({ known.contains($0.name) }) ?? false {
                fault("must be exactly one of \(example)")
            }
            return nil
        }
        switch name {
        case "file": return entry.filledPath(relativeTo: directory).map { .file($0) }
        case "credential": return entry.credentialName().map { .credential($0) }
        default: return entry.command(relativeTo: directory).map { .command($0) }
        }
    }

    /// Text whose braces hold only what there is.
    private func template(_ rule: String) -> String? {
        guard let text = text(rule) else { return nil }
        let rest = PassphraseSource.placeholders.reduce(text) { $0.replacing($1, with: "") }
        guard !rest.contains("{"), !rest.contains("}") else {
            fault("\(quoted(text)) has a brace; \(PassphraseSource.placeholders.joined(separator: " and ")) are known")
            return nil
        }
        return text
    }

    private func filledPath(relativeTo directory: String) -> String? {
        template("a path") == nil ? nil : filePath(relativeTo: directory)
    }

    private func credentialName() -> String? {
        guard let name = template("the name of a credential") else { return nil }
        guard !name.contains("/"), name != ".", name != ".." else {
            fault("must be the name of a credential, without a /, not \(quoted(name))")
            return nil
        }
        return name
    }

    private func command(relativeTo directory: String) -> [String]? {
        guard let words = list("/usr/bin/systemd-creds") else { return nil }
        let texts = words.map { $0.template("a text") }
        guard let program = texts[0], !texts.contains(nil) else { return nil }
        guard program.contains("/") else {
            words[0].fault("must be the path of a program with a / in it, not \(quoted(program)); no PATH is searched")
            return nil
        }
        guard let path = words[0].filePath(relativeTo: directory) else { return nil }
        guard path.contains("{") || access(path, X_OK) == 0 else {
            words[0].fault("\(path) cannot be run: \(String(cString: strerror(errno)))")
            return nil
        }
        return [path] + texts.dropFirst().compactMap { $0 }
    }
}
