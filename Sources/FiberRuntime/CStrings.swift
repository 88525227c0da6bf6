import Glibc

/// Texts as C strings, alive until `release`. Some hold preimages, so the memory is wiped before it goes.
struct CStrings: ~Copyable {
    private var held: [UnsafeMutablePointer<CChar>] = []

    init() {}

    deinit {
        for pointer in held {
            explicit_bzero(pointer, strlen(pointer))
            free(pointer)
        }
    }

    /// A copy of `text`. It holds no NUL: the types of parameters see to that.
    mutating func hold(_ text: String) -> UnsafePointer<CChar>? {
        guard let copy = strdup(text) else { return nil }
        held.append(copy)
        return UnsafePointer(copy)
    }

    /// Ends all of them. To be called after the native call: the value's own lifetime may end earlier, at its last use.
    consuming func release() {}
}
