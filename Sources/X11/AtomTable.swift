import Selection

/// Atoms by name and by number.
///
/// The names we ask for are kept for good. Names that other clients made up are kept as long as they are in use:
/// LibreOffice makes new atoms with every copy, and the server never forgets one.
public final class AtomTable {
  /// How many foreign names are kept at least; at most twice as many. Our choice: a clip has at most 256 targets, so
  /// several clips' names fit, in some 200 KB.
  static let capacity = 2_048

  private let xcb: XcbConnection
  private var numbers: [String: NamedAtom] = [:]
  private var ours: [UInt32: NamedAtom] = [:]
  private var recent: [UInt32: NamedAtom] = [:]
  private var older: [UInt32: NamedAtom] = [:]

  init(xcb: XcbConnection) { self.xcb = xcb }

  /// The atoms of `names`, in one round trip at most; `.none` as number when the server is gone.
  @discardableResult
  public func intern(_ names: [String]) -> [NamedAtom] {
    let unknown = names.filter { numbers[$0] == nil }
    let serials = unknown.map { xcb.internAtom(AtomName.bytes(of: $0)) }
    for (name, serial) in zip(unknown, serials) {
      // InternAtom's reply: the atom at 8.
      guard let reply = xcb.reply(to: serial) else { continue }
      let atom = NamedAtom(Atom(reply.word(at: 8)), name)
      numbers[name] = atom
      ours[atom.atom.id] = atom
    }
    return names.map { numbers[$0] ?? NamedAtom(.none, $0) }
  }

  /// The atom of `name`.
  public func intern(_ name: String) -> NamedAtom { numbers[name] ?? intern([name])[0] }

  /// `atoms` with their names, in one round trip at most, without those that don't exist. Order and repetitions stay.
  public func named(_ atoms: [Atom]) -> [NamedAtom] {
    var found: [UInt32: NamedAtom] = [:]
    var asked: [(id: UInt32, serial: Serial)] = []
    for atom in atoms where atom != .none && found[atom.id] == nil {
      if let known = cached(atom.id) {
        found[atom.id] = known
      } else {
        // A placeholder, so that a repeated number is asked for once.
        found[atom.id] = NamedAtom(.none, "")
        asked.append((atom.id, xcb.getAtomName(atom.id)))
      }
    }
    for (id, serial) in asked {
      // GetAtomName's reply: the name's length at 8. No reply is BadAtom: a number that its owner made up.
      guard let reply = xcb.reply(to: serial) else { continue }
      let name = reply.withTail(Int(reply.half(at: 8))) { AtomName.string(of: $0) }
      let atom = NamedAtom(Atom(id), name)
      found[id] = atom
      remember(atom)
    }
    return atoms.compactMap { atom in found[atom.id].flatMap { $0.atom == .none ? nil : $0 } }
  }

  /// `atom` with its name, an empty one if it doesn't exist.
  public func named(_ atom: Atom) -> NamedAtom { cached(atom.id) ?? named([atom]).first ?? NamedAtom(atom, "") }

  /// How many names are kept.
  var count: Int { ours.count + recent.count + older.count }

  private func cached(_ id: UInt32) -> NamedAtom? {
    if let known = ours[id] ?? recent[id] { return known }
    guard let known = older.removeValue(forKey: id) else { return nil }
    remember(known)
    return known
  }

  private func remember(_ atom: NamedAtom) {
    if recent.count >= Self.capacity {
      older = recent
      recent = [:]
    }
    recent[atom.atom.id] = atom
  }
}

/// Atom names are Latin-1 in the protocol.
nonisolated enum AtomName {
  static func bytes(of name: String) -> [UInt8] {
    let scalars = name.unicodeScalars
    return scalars.allSatisfy { $0.value < 0x100 } ? scalars.map { UInt8($0.value) } : Array(name.utf8)
  }

  static func string(of bytes: some Collection<UInt8>) -> String {
    var name = String.UnicodeScalarView()
    name.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
    return String(name)
  }
}
