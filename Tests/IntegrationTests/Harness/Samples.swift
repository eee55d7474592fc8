import Foundation

/// The texts that go through every pair, and which program can carry them.
enum Sample: String, CaseIterable, Sendable {
  case ascii, unicode, empty, nul, large

  var bytes: Data {
    switch self {
    case .ascii: Data("plain text, 42 = 6 * 7".utf8)
    case .unicode: Data("za\u{17c}\u{f3}\u{142}\u{107} \u{6f22}\u{5b57} \u{1f642} \u{fc}mlaut".utf8)
    case .empty: Data()
    case .nul: Data([0x61, 0, 0x62, 0, 0x63])
    case .large:
      Data(
        (0..<10_240).map {
          String(format: "line %08d ", $0) + String(repeating: "0123456789abcdef", count: 31) + "..\n"
        }.joined().utf8)
    }
  }

  /// Whether the program can copy it at all. Text widgets copy no empty selection; none but xclip takes a NUL from
  /// its input; xterm copies the line that a triple click selects; `xsel -i` with no input clears the selection.
  func canCopy(_ kind: ProgramKind) -> Bool {
    switch (self, kind) {
    case (.ascii, _), (.unicode, _): true
    case (.empty, .xclip): true
    case (.nul, .xclip): true
    case (.large, .xclip), (.large, .gtk), (.large, .qt): true
    default: false
    }
  }

  /// Whether the program can paste it. `xsel -o` ends at the first NUL; as the second reader of a large text that xclip
  /// owns it stops with an error, and xclip then answers nobody any more (as the first it reads it whole). Tk reads at most
  /// 400,000 bytes at once; xterm makes blanks of control characters.
  func canPaste(_ kind: ProgramKind) -> Bool {
    switch (self, kind) {
    case (.ascii, _), (.unicode, _), (.empty, _): true
    case (.nul, .xclip): true
    case (.large, .xclip), (.large, .gtk), (.large, .qt): true
    default: false
    }
  }
}

/// What may differ with the daemon under allow-all, and why. Everything else is the same bytes and targets.
enum Exceptions {
  /// Targets of the source that the daemon answers itself or can't keep.
  static let metadata: [String: String] = [
    "TARGETS": "answered by whoever owns", "MULTIPLE": "answered by whoever owns",
    "TIMESTAMP": "answered by whoever owns",
    "SAVE_TARGETS": "a request to a clipboard manager, meaningless once one owns",
    "INCR": "listed by xsel, which converts nothing to it",
    "DELETE": "has a side effect in the source",
    "INSERT_SELECTION": "has a side effect in the source", "INSERT_PROPERTY": "has a side effect in the source",
  ]

  /// Targets that say something of the owner's process or window, not of the content: wrong once another owns.
  static let aboutTheOwner: Set<String> = [
    "LENGTH", "LIST_LENGTH", "HOSTNAME", "IP_ADDRESS", "USER", "CLASS", "NAME", "CLIENT_WINDOW", "OWNER_OS", "PROCESS",
    "TASK", "HOST_NAME", "TK_APPLICATION", "TK_WINDOW", "GTK_TEXT_BUFFER_CONTENTS",
  ]

  /// Plain text spellings of bytes that the source offered under another; product.md 5.5 lets the daemon add them.
  static let addedSpellings: Set<String> = ["UTF8_STRING", "text/plain;charset=utf-8", "STRING", "TEXT", "text/plain"]

  static func isContent(_ target: String) -> Bool { metadata[target] == nil && !aboutTheOwner.contains(target) }
}
