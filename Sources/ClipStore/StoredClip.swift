import Policy
import Selection

/// Where content or requests belong: one screen of one run of one X server, in one boot of the machine. Windows, atoms,
/// server times and process numbers mean nothing elsewhere.
public struct Place: Hashable, Sendable {
  /// The display's name.
  public var display: String
  /// The screen's number.
  public var screen: Int
  /// The mark of the server's run: 16 bytes.
  public var server: [UInt8]
  /// The boot's identity: 16 bytes.
  public var boot: [UInt8]

  /// Names a place.
  public init(display: String, screen: Int, server: [UInt8], boot: [UInt8]) {
    self.display = display
    self.screen = screen
    self.server = server
    self.boot = boot
  }

  /// The bytes of each of the two identities.
  public static let identityBytes = 16
}

/// What is known of a clip that is kept outside of the process, all but its content. The content follows it: the forms in
/// their order, each at the next multiple of ``alignment``.
public struct StoredClip: Hashable, Sendable {
  /// One representation.
  public struct Form: Hashable, Sendable {
    /// The target's name: its number is the server's business.
    public var target: String
    /// The type's name.
    public var type: String
    /// 8, 16 or 32 bits an item.
    public var format: Int
    /// How many bytes of content it has.
    public var count: Int

    /// Describes a representation.
    public init(target: String, type: String, format: Int, count: Int) {
      self.target = target
      self.type = type
      self.format = format
      self.count = count
    }
  }

  /// Where it belongs.
  public var place: Place
  /// The selection's name.
  public var selection: String
  /// The time of the claim.
  public var time: ServerTime
  /// Who it came from.
  public var source: Subject
  /// Whether it was a cut.
  public var isCut: Bool
  /// When it was copied.
  public var copiedAt: MonotonicTime
  /// Whether the source listed SAVE_TARGETS.
  public var listsSaveTargets: Bool
  /// In the source's own order.
  public var forms: [Form]

  /// Describes a clip.
  public init(
    place: Place, selection: String, time: ServerTime, source: Subject, isCut: Bool, copiedAt: MonotonicTime,
    listsSaveTargets: Bool, forms: [Form]
  ) {
    self.place = place
    self.selection = selection
    self.time = time
    self.source = source
    self.isCut = isCut
    self.copiedAt = copiedAt
    self.listsSaveTargets = listsSaveTargets
    self.forms = forms
  }

  /// `XPBCLIP` and a NUL.
  static let magic: [UInt8] = [0x58, 0x50, 0x42, 0x43, 0x4c, 0x49, 0x50, 0]
  /// The version of the byte form. Another one is dropped: it is the form of minutes, not of an archive.
  static let version: UInt32 = 2
  /// Magic, version, header's length, whole length, digest of the header.
  static let prefixBytes = 8 + 4 + 4 + 8 + 8
  static let digestOffset = 24
  /// Content begins at multiples of this, enough for every item.
  public static let alignment = 16
  /// Our choice: many times what a clip has at most (product.md 9: 256 targets).
  static let mostForms = 4_096
  /// The longest name of an atom has 65 535 characters of Latin-1.
  static let longestText = 128 << 10
  /// Our choice: 256 targets and types of the longest names.
  static let longestHeader = 96 << 20

  /// Where each form's content lies when the header takes `headerBytes`; `nil` when that exceeds what can be counted.
  func ranges(after headerBytes: Int) -> [Range<Int>]? {
    var ranges: [Range<Int>] = []
    var end = headerBytes
    for form in forms {
      let (start, overflows) = end.addingReportingOverflow((Self.alignment - end % Self.alignment) % Self.alignment)
      let (next, exceeds) = start.addingReportingOverflow(form.count)
      guard !overflows, !exceeds, form.count >= 0 else { return nil }
      ranges.append(start..<next)
      end = next
    }
    return ranges
  }
}

/// A clip with where its content lies in the bytes it was read from.
public struct LocatedClip: Hashable, Sendable {
  /// What is known of it.
  public var clip: StoredClip
  /// The content of each form, in bounds, one behind the other.
  public var ranges: [Range<Int>]
}

/// Why bytes are no clip, or no ledger, of this version.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Fewer bytes than any has.
  case tooShort
  /// Something else altogether.
  case foreign
  /// Of another version of the program.
  case version(UInt32)
  /// Lengths that contradict each other.
  case lengths
  /// The header isn't what was written.
  case altered
  /// A field that can't have this value.
  case field(String)

  /// In words, for the journal.
  public var description: String {
    switch self {
    case .tooShort: "too short"
    case .foreign: "not of this program"
    case .version(let number): "of version \(number) of the form"
    case .lengths: "its lengths contradict each other"
    case .altered: "its header was altered"
    case .field(let name): "its \(name) makes no sense"
    }
  }
}
