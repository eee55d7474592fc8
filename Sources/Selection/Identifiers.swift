/// A window's XID.
public struct Window: Hashable, Sendable, CustomStringConvertible {
  /// The XID; 0 is None.
  public var id: UInt32

  /// The window of that XID.
  public init(_ id: UInt32) { self.id = id }

  /// No window.
  public static let none = Window(0)
  /// `0x` and the XID in hexadecimal.
  public var description: String { "0x" + String(id, radix: 16) }
}

/// An atom: a string that the X server has numbered.
public struct Atom: Hashable, Sendable {
  /// The number; 0 is None.
  public var id: UInt32

  /// The atom of that number.
  public init(_ id: UInt32) { self.id = id }

  /// No atom: as a property it is a refusal.
  public static let none = Atom(0)
}

/// An atom with its name, so that the pure core can judge by names and answer by numbers.
public struct NamedAtom: Hashable, Sendable, CustomStringConvertible {
  /// The number by which the server knows it; two of them are equal when this is.
  public var atom: Atom
  /// Its name, Latin-1 as the protocol has it, turned into a Swift string.
  public var name: String

  /// Joins number and name.
  public init(_ atom: Atom, _ name: String) {
    self.atom = atom
    self.name = name
  }

  /// Equal numbers are equal atoms.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.atom == rhs.atom }
  /// Hashes the number alone.
  public func hash(into hasher: inout Hasher) { hasher.combine(atom) }
  /// The name.
  public var description: String { name }
}

/// What a selection can be converted to; ICCCM calls it the target.
public typealias Target = NamedAtom

/// Names one conversion that we asked of an owner; each has a requestor window of its own (product.md 5.3).
public struct ConversionID: Hashable, Sendable {
  /// A number never used twice in one run.
  public var number: UInt64

  /// Wraps the number.
  public init(_ number: UInt64) { self.number = number }
}
